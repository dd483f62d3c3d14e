// The tests of the shop. A sandbox plays the payment service while they run, so they need no network and no secret:
//
//   till sandbox run -- sh -c "cd examples/node && npm test"

import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { Lost, Refused, Service, Shop } from './shop.js'

const address = 'bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq'
const service = new Service(process.env.TILL_BASE_URL, process.env.TILL_API_KEY)
let shop

// What a customer, the service or a broken network would do.
const sandbox = (method, path, body) => service.call(method, path, body)
const breakNext = (call, fault) => sandbox('POST', '/sandbox/faults', { on: call, do: fault, times: 1 })

/** Returns the bodies of the calls that reached the service. */
async function received(method, path) {
  const { requests } = await sandbox('GET', '/sandbox/requests')
  return requests.filter((call) => call.method === method && call.path === path).map((call) => call.body)
}

beforeEach(async () => {
  await sandbox('POST', '/sandbox/reset', {}) // as at the start: no invoice, no fault, an empty log
  shop = new Shop(service)
  await shop.open()
})

afterEach(() => shop.close())

test('the invoice has the order', async () => {
  await shop.order(1001, 2950)
  const [sent] = await received('POST', '/api/invoice')
  assert.equal(sent.order_id, '1001')
  assert.equal(sent.items[0].amount, '2950')
})

test('an unpaid order waits', async () => {
  await shop.order(1001, 2950)
  assert.equal(await shop.settle(1001), 'waiting')
})

test('a customer who pays on the page comes back to a shipped order', async () => {
  const page = await shop.order(1001, 2950)
  assert.match(await (await fetch(page)).text(), /Pay 29\.50 USD/)
  const answer = await fetch(`${page}/pay`, { method: 'POST' }) // the button; redirects are followed
  assert.equal(answer.url, `${shop.ownAddress}/thanks/1001`)
  assert.equal(await answer.text(), 'Order 1001: shipped')
})

test('an expired order is cancelled', async () => {
  await shop.order(1001, 2950)
  await sandbox('POST', '/sandbox/expire', { invoice: shop.invoices.get(1001) })
  assert.equal(await shop.settle(1001), 'cancelled')
})

test('a lost answer does not make a second invoice', async () => {
  await breakNext('POST /api/invoice', 'drop-after')
  for (let i = 0; i < 2; i++) await assert.rejects(shop.order(1001, 2950), Lost)
  assert.equal((await received('POST', '/api/invoice')).length, 1)
})

test('an order that was refused may be corrected', async () => {
  await assert.rejects(shop.order(1001, -1), Refused)
  await shop.order(1001, 2950)
})

test('a refund is paid once', async () => {
  const first = await shop.refund(7001, 15000, address)
  assert.equal(await shop.refund(7001, 15000, address), first)
  assert.equal((await received('POST', '/api/merchant_withdrawal/create')).length, 1)
})

test('after a lost answer the refund is found and not paid again', async () => {
  await breakNext('POST /api/merchant_withdrawal/create', 'drop-after')
  const id = await shop.refund(7001, 15000, address)
  assert.equal((await service.read('GET', `/api/merchant_withdrawal?id=${id}`)).external_id, 7001)
  assert.equal((await received('POST', '/api/merchant_withdrawal/create')).length, 1)
})

test('a refund that cannot be found stays unknown', async () => {
  await breakNext('POST /api/merchant_withdrawal/create', 'drop-before')
  for (let i = 0; i < 2; i++) await assert.rejects(shop.refund(7001, 15000, address), Lost)
  assert.equal((await received('POST', '/api/merchant_withdrawal/create')).length, 1)
})

test('reading is tried again', async () => {
  await shop.order(1001, 2950)
  await breakNext('GET /api/invoice', 'status=503')
  assert.equal(await shop.settle(1001), 'waiting')
  assert.equal((await received('GET', '/api/invoice')).length, 2)
})

test('the customer is told once, however often the callback comes', async () => {
  const withdrawal = await shop.refund(7001, 15000, address)
  await sandbox('POST', '/sandbox/advance', { withdrawal, status: 'Processing' })
  const { delivery } = await sandbox('POST', '/sandbox/advance', { withdrawal, status: 'Completed' })
  const again = await sandbox('POST', '/sandbox/callbacks/resend', { id: delivery.id })
  assert.equal(again.state, 'delivered')
  assert.deepEqual(shop.thanked, [7001])
})
