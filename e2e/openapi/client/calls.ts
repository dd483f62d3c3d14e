// Calls every operation of the interface with the generated client. The program that starts it checks that each one
// arrived and was answered. The compiler checks the types of what is sent and answered.
import { strict as assert } from "node:assert";
import * as service from "./client";
import { client } from "./client/client.gen";

const { TILL_BASE_URL, TILL_API_KEY } = process.env;

// need returns the data of an answer, or throws its error.
async function need<Data, Failure>(call: Promise<{ data?: Data; error?: Failure }>): Promise<Data> {
  const { data, error } = await call;
  if (data === undefined) throw new Error(JSON.stringify(error));
  return data;
}

async function main() {
  client.setConfig({ baseUrl: TILL_BASE_URL, auth: TILL_API_KEY });

  const withdrawal = await need(service.createWithdrawal({ body: {
    currency: { Crypto: "Btc" }, amount: { Fiat: { USD: 2500 } }, address: "bc1qexample", external_order_id: "4711",
  } }));
  const one = await need(service.getWithdrawal({ query: { id: withdrawal } }));
  assert.equal(one.external_id, 4711);
  assert.equal(one.address, "bc1qexample");
  const page = await need(service.listWithdrawals({ query: { page: 1, page_size: 10 }, body: { currencies: [{ Crypto: "Btc" }], tags: ["New"] } }));
  assert.equal(page.total, 1);
  assert.equal(page.page_content[0].address.Crypto.address, "bc1qexample");

  const created = await need(service.createInvite({ body: "6f1c2a34-9d0e-4b7a-8c55-0123456789ab" }));
  assert.match(created.url, /\/invite\//);
  assert.equal((await need(service.getInvite({ query: { id: created.invite } }))).label, created.label);
  assert.equal((await need(service.listInvites())).length, 1);
  const shop = await need(service.redeemInvite({ body: { invite: created.invite, label: "Shop" } }));
  const id = shop.id;

  const invoice = await need(service.createInvoice({ auth: shop.api_key, body: {
    title: "Tea", number: 17, currency: { Fiat: "Usd" }, items: [{ name: "Tea", amount: "2500" }],
  } }));
  assert.equal((await need(service.getInvoice({ auth: shop.api_key, query: { id: invoice } }))).tittle, "Tea");
  await need(service.payInvoice({ body: { invoice } }));
  const theirs = await need(service.createWithdrawal({ auth: shop.api_key, body: {
    currency: { Fiat: "Usd" }, amount: { Fiat: { USD: 100 } }, address: "account 1",
  } }));

  assert.equal((await need(service.listResellers()))[id].invite_info.label, "Shop");
  assert.deepEqual(await need(service.listResellerIds()), [id]);
  assert.deepEqual((await need(service.getReseller({ query: { id } }))).rebates, { Usd: { Fiat: { USD: 25 } } });
  assert.equal((await need(service.getResellerInvite({ query: { id } }))).invite, created.invite);
  assert.equal((await need(service.getResellerStatistics({ query: { id } }))).invoice_rebates[invoice].rebate.USD, 25);
  const list = await need(service.listResellerWithdrawals({ query: { id, page: 1, page_size: 10 }, body: { currencies: [], tags: [] } }));
  assert.equal(list.page_content[0].id, theirs);
  assert.equal((await need(service.getResellerWithdrawal({ query: { id, withdraw: theirs } }))).current, "New");
  assert.deepEqual(await need(service.listResellerBalances({ query: { id } })), { Crypto: {}, Fiat: { USD: 2400 } });
  assert.ok(await need(service.getResellerBalance({ query: { id, currency: "Usd", include_fiat: "true" } })));
  assert.deepEqual(await need(service.listResellerRebates({ query: { id } })), [{ Fiat: { USD: 25 } }]);
  assert.deepEqual(await need(service.getResellerRebate({ query: { id, currency: "Usd" } })), { Usd: { Fiat: { USD: 25 } } });
  assert.ok(await need(service.listResellerInvoices({ query: { id, page: 1, page_size: 10 }, body: {} })));
  assert.equal((await need(service.getResellerInvoice({ query: { id, invoice } }))).external_number, 17);
  assert.equal(await need(service.isResellerInvoiceFinished({ query: { id, invoice } })), true);

  const { error } = await service.getWithdrawal({ query: { id: "unknown" } });
  assert.ok(typeof error === "object", "it is no text of the HTTP server");
  assert.equal(error.error.reason, "not_found");
}

main();
