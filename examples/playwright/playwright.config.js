// CHROMIUM names a browser that is installed; without it, Playwright uses its own.
export default {
  fullyParallel: true,
  use: { launchOptions: { executablePath: process.env.CHROMIUM } },
}
