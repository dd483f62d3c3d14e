// A browser pays an invoice. Playwright starts a sandbox for each of its workers:
//
//   cd examples/playwright && npm install --no-save @playwright/test@1.65.1 && npx playwright test --workers 8

import { test as base, expect } from '@playwright/test'
import { Service, Shop } from '../node/shop.js'
import { startSandbox } from '../node/till.js'

const test = base.extend({
  till: [async ({}, use) => {
    const till = await startSandbox()
    await use(till)
    await till.stop()
  }, { scope: 'worker' }],

  shop: async ({ till }, use) => {
    const shop = new Shop(new Service(till.url, till.key))
    await shop.open()
    await use(shop)
    await shop.close()
  },
})

test('a customer who pays comes back to a shipped order', async ({ page, shop }) => {
  await page.goto(await shop.order(1001, 2950))
  await page.getByRole('button', { name: 'Pay 29.50 USD' }).click()
  await expect(page).toHaveURL(`${shop.ownAddress}/thanks/1001`)
  await expect(page.getByText('Order 1001: shipped')).toBeVisible()
})
