// CHROMIUM names a browser that is installed; without it, the one of npx playwright install is used.
export default {
  fullyParallel: true,
  use: { launchOptions: { executablePath: process.env.CHROMIUM } },
}
