// A small shop, as something to test: it sells with invoices, and pays refunds with withdrawals.
//
// The rule for everything that moves money: note the number first, send once, and never send again. If the answer is
// lost, the payment may exist, so the shop looks for it instead of repeating the call.
//
// It needs Node.js 20 and no packages. A real shop keeps what is in the maps in its database.

import { createServer } from 'node:http'
import { once } from 'node:events'

/** The service said no, so nothing was made. */
export class Refused extends Error {}

/** There was no usable answer, so it is unknown whether something was made. */
export class Lost extends Error {}

/** The payment service at an address, with an API key. */
export class Service {
  constructor(address, key) {
    this.address = address
    this.key = key
  }

  /** Makes one call. Returns the decoded answer, or throws Refused or Lost. */
  async call(method, path, body) {
    let answer, text
    try {
      answer = await fetch(this.address + path, {
        method,
        headers: { Authorization: `Bearer ${this.key}`, 'Content-Type': 'application/json' },
        body: body === undefined ? undefined : JSON.stringify(body),
        redirect: 'error',
        signal: AbortSignal.timeout(10_000),
      })
      text = await answer.text()
    } catch (cause) {
      throw new Lost('no answer', { cause })
    }
    if (answer.status >= 400 && answer.status < 500) throw new Refused(`${answer.status}: ${text}`)
    if (answer.status !== 200) throw new Lost(`the service answered ${answer.status}`)
    try {
      return JSON.parse(text)
    } catch (cause) {
      throw new Lost('the answer is not JSON', { cause })
    }
  }

  /** Makes a call that changes nothing, so it may be repeated: up to three times. */
  async read(method, path, body) {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.call(method, path, body)
      } catch (error) {
        if (!(error instanceof Lost) || attempt === 3) throw error
      }
    }
  }
}

/** Orders and refunds by their numbers. The shop listens on ownAddress for customers and callbacks. */
export class Shop {
  constructor(service) {
    this.service = service
    this.invoices = new Map() // order number: invoice id, or null while that is unknown
    this.refunds = new Map() // refund number: withdrawal id, or null while that is unknown
    this.thanked = [] // the refunds of which customers were told, each once
    this.server = createServer((request, response) => this.answer(request, response))
  }

  async open() {
    this.server.listen(0, '127.0.0.1')
    await once(this.server, 'listening')
    this.ownAddress = `http://127.0.0.1:${this.server.address().port}`
  }

  async close() {
    this.server.close()
    this.server.closeAllConnections()
    await once(this.server, 'close')
  }

  /** Returns the address of the page on which the customer pays. */
  async order(number, cents) {
    if (!this.invoices.has(number)) {
      this.invoices.set(number, null)
      try {
        this.invoices.set(number, await this.service.call('POST', '/api/invoice', {
          order_id: String(number),
          title: `Order ${number}`,
          currency: { Fiat: 'Usd' },
          items: [{ name: 'Coffee beans', amount: String(cents) }],
          callback_url: `${this.ownAddress}/thanks/${number}`,
        }))
      } catch (error) {
        if (error instanceof Refused) this.invoices.delete(number) // nothing was made: it may be tried again
        throw error
      }
    }
    const id = this.invoices.get(number)
    if (id === null) throw new Lost(`order ${number}: it is unknown whether it has an invoice`)
    return `${this.service.address}/invoice/${id}`
  }

  /** Returns what becomes of an order: shipped, cancelled or waiting. */
  async settle(number) {
    const { status } = await this.service.read('GET', `/api/invoice?id=${this.invoices.get(number)}`)
    return { Paid: 'shipped', Expired: 'cancelled' }[status] ?? 'waiting'
  }

  /** Pays a refund, once for each number. Returns the id of the withdrawal. */
  async refund(number, satoshi, address) {
    if (!this.refunds.has(number)) {
      this.refunds.set(number, null)
      try {
        this.refunds.set(number, await this.service.call('POST', '/api/merchant_withdrawal/create', {
          currency: { Crypto: 'Btc' },
          amount: { Crypto: { Btc: satoshi } },
          address,
          external_order_id: String(number),
          callback: `${this.ownAddress}/callback`,
        }))
      } catch (error) {
        if (error instanceof Refused) {
          this.refunds.delete(number)
          throw error
        }
        // Its answer is lost, so it may have been paid: look.
      }
    }
    if (this.refunds.get(number) === null) this.refunds.set(number, await this.find(number))
    if (this.refunds.get(number) === null) throw new Lost(`refund ${number}: it is unknown whether it was paid`)
    return this.refunds.get(number)
  }

  /** Looks for a withdrawal on the service's list. Not finding it proves nothing: the list may be late. */
  async find(number) {
    for (let page = 1; ; page++) {
      const path = `/api/merchant_withdrawal/list?page=${page}&page_size=100`
      const { page_content: rows } = await this.service.read('POST', path, { currencies: [], tags: [] })
      const found = rows.find((withdrawal) => withdrawal.external_order_id === String(number))
      if (found || rows.length === 0) return found?.id ?? null
    }
  }

  /** Asks for the state of every refund. A callback is a hint to do so: anybody could have posted it. */
  async callback() {
    for (const [number, id] of this.refunds) {
      if (id === null) continue
      const { current } = await this.service.read('GET', `/api/merchant_withdrawal?id=${id}`)
      if (current === 'Completed' && !this.thanked.includes(number)) this.thanked.push(number)
    }
  }

  /** Answers a customer who comes back from the payment page, and callbacks of the service. */
  async answer(request, response) {
    try {
      if (request.method === 'GET' && request.url.startsWith('/thanks/')) {
        const number = Number(request.url.slice('/thanks/'.length))
        response.end(`Order ${number}: ${await this.settle(number)}`)
      } else {
        request.resume()
        await this.callback()
        response.end('thank you')
      }
    } catch {
      response.writeHead(503).end('try again') // the service delivers a callback once more
    }
  }
}
