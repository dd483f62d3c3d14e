// The tests of the shop. A sandbox plays the payment service while they run, so they need no network and no secret:
//
//   cd examples/node && npm test
//
// The sandbox belongs to this process. Each test has a number of its own, so that none sees what another one left.

import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { Lost, Refused, Service, Shop } from './shop.js'
import { startSandbox } from './till.js'

const create = 'POST /api/merchant_withdrawal/create'
const address = 'bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq'
let till, service, shop
let number = 1000 // of an order or a refund

// What a customer, the service or a broken network would do.
const sandbox = (method, path, body) => service.call(method, path, body)
const breakNext = (call, field, value, fault) =>
  sandbox('POST', '/sandbox/faults', { on: call, match: { [field]: String(value) }, do: fault, times: 1 })

/** Returns the bodies of the calls with this value that reached the service. */
async function received(call, field, value) {
  const query = new URLSearchParams({ on: call, match: `${field}=${value}` })
  const { requests } = await sandbox('GET', `/sandbox/requests?${query}`)
  return requests.map((request) => request.body)
}

before(async () => {
  till = await startSandbox()
  service = new Service(till.url, till.key)
})

after(() => till?.stop())

beforeEach(async () => {
  number++
  shop = new Shop(service)
  await shop.open()
})

afterEach(() => shop.close())

test('the invoice has the order', async () => {
  await shop.order(number, 2950)
  const [sent] = await received('POST /api/invoice', 'order_id', number)
  assert.equal(sent.order_id, String(number))
  assert.equal(sent.items[0].amount, '2950')
})

test('an unpaid order waits', async () => {
  await shop.order(number, 2950)
  assert.equal(await shop.settle(number), 'waiting')
})

test('a customer who pays on the page comes back to a shipped order', async () => {
  const page = await shop.order(number, 2950)
  assert.match(await (await fetch(page)).text(), /Pay 29\.50 USD/)
  const answer = await fetch(`${page}/pay`, { method: 'POST' }) // the button; redirects are followed
  assert.equal(answer.url, `${shop.ownAddress}/thanks/${number}`)
  assert.equal(await answer.text(), `Order ${number}: shipped`)
})

test('an expired order is cancelled', async () => {
  await shop.order(number, 2950)
  await sandbox('POST', '/sandbox/expire', { invoice: shop.invoices.get(number) })
  assert.equal(await shop.settle(number), 'cancelled')
})

test('a lost answer does not make a second invoice', async () => {
  await breakNext('POST /api/invoice', 'order_id', number, 'drop-after')
  for (let i = 0; i < 2; i++) await assert.rejects(shop.order(number, 2950), Lost)
  assert.equal((await received('POST /api/invoice', 'order_id', number)).length, 1)
})

test('an order that was refused may be corrected', async () => {
  await assert.rejects(shop.order(number, -1), Refused)
  await shop.order(number, 2950)
})

test('a refund is paid once', async () => {
  const first = await shop.refund(number, 15000, address)
  assert.equal(await shop.refund(number, 15000, address), first)
  assert.equal((await received(create, 'external_order_id', number)).length, 1)
})

test('after a lost answer the refund is found and not paid again', async () => {
  await breakNext(create, 'external_order_id', number, 'drop-after')
  const id = await shop.refund(number, 15000, address)
  assert.equal((await service.read('GET', `/api/merchant_withdrawal?id=${id}`)).external_id, number)
  assert.equal((await received(create, 'external_order_id', number)).length, 1)
})

test('a refund that cannot be found stays unknown', async () => {
  await breakNext(create, 'external_order_id', number, 'drop-before')
  for (let i = 0; i < 2; i++) await assert.rejects(shop.refund(number, 15000, address), Lost)
  assert.equal((await received(create, 'external_order_id', number)).length, 1)
})

test('reading is tried again', async () => {
  await shop.order(number, 2950)
  const invoice = shop.invoices.get(number)
  await breakNext('GET /api/invoice', 'id', invoice, 'status=503')
  assert.equal(await shop.settle(number), 'waiting')
  assert.equal((await received('GET /api/invoice', 'id', invoice)).length, 2)
})

test('the customer is told once, however often the callback comes', async () => {
  const withdrawal = await shop.refund(number, 15000, address)
  await sandbox('POST', '/sandbox/advance', { withdrawal, status: 'Processing' })
  const { delivery } = await sandbox('POST', '/sandbox/advance', { withdrawal, status: 'Completed' })
  const again = await sandbox('POST', '/sandbox/callbacks/resend', { id: delivery.id })
  assert.equal(again.state, 'delivered')
  assert.deepEqual(shop.thanked, [number])
})
