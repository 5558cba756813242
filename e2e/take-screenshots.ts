import { fileURLToPath } from 'node:url'
import { type Browser, chromium } from '@playwright/test'
import { chromiumPath } from './engines/browser-paths.ts'
import { type HoldfastProcess, startHoldfast } from './support/holdfast-process.ts'
import { Studio } from './support/studio.ts'

/**
 * Takes the screenshots of README and docs anew: `node --conditions=holdfast-source e2e/take-screenshots.ts`, with
 * `studio` or `devtools` after it for some of them only. Build the studio first.
 */
const SETS = { studio: takeStudio, devtools: takeDevtools }
const folder = fileURLToPath(new URL('../docs/images/', import.meta.url))
const wanted = process.argv.slice(2)
const holdfast = await startHoldfast()
const browser = await chromium.launch({ executablePath: chromiumPath(), args: ['--no-sandbox'] })
try {
  for (const [name, take] of Object.entries(SETS)) {
    if (wanted.length === 0 || wanted.includes(name)) await take(browser, holdfast)
  }
} finally {
  await browser.close()
  await holdfast.stop()
}

async function takeStudio(browser: Browser, holdfast: HoldfastProcess) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, deviceScaleFactor: 1 })
  const studio = new Studio(await context.newPage(), holdfast)
  await studio.open()
  await studio.signIn('Ada')
  await studio.generate('A quiet harbour at sunset')
  await studio.generate('Northern lights over snowy peaks')
  await studio.generate('[fail] A castle made of glass')
  await studio.expectPicture('A quiet harbour at sunset')
  await studio.expectPicture('Northern lights over snowy peaks')
  await studio.card('[fail] A castle made of glass').getByRole('button', { name: 'Retry' }).waitFor()
  await studio.generate('Waves rolling onto a moonlit beach', 'Video')
  await studio.progress('Waves rolling onto a moonlit beach').waitFor()
  await studio.page.locator('[data-kind=reported]').waitFor({ timeout: 20_000 })
  await studio.page.screenshot({ path: `${folder}studio-light.png`, animations: 'disabled' })
  await studio.page.emulateMedia({ colorScheme: 'dark' })
  await studio.page.screenshot({ path: `${folder}studio-dark.png`, animations: 'disabled' })

  const phone = await browser.newContext({ viewport: { width: 390, height: 780 }, deviceScaleFactor: 1 })
  const other = new Studio(await phone.newPage(), holdfast)
  await other.open()
  await other.signIn('Ada')
  await other.page.getByRole('button', { name: 'Dismiss' }).first().click()
  await other.card('Waves rolling onto a moonlit beach').scrollIntoViewIfNeeded()
  await other.page.screenshot({ path: `${folder}studio-phone.png`, animations: 'disabled' })
}

/** Three tabs, of which the leading one has just crashed. */
async function takeDevtools(browser: Browser, holdfast: HoldfastProcess) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, deviceScaleFactor: 1 })
  const open = async () => {
    const studio = new Studio(await context.newPage(), holdfast)
    await studio.open('?devtools')
    await studio.signInUnlessSignedIn('Grace')
    return studio
  }
  const first = await open()
  await first.generate('A quiet harbour at sunset')
  await first.generate('Northern lights over snowy peaks')
  const second = await open()
  await open()
  await second.page.bringToFront()
  await second.page.getByRole('button', { name: 'Open Holdfast devtools' }).click()
  await second.expectPicture('A quiet harbour at sunset')
  await second.expectPicture('Northern lights over snowy peaks')
  await second.openConversation('A quiet harbour at sunset')
  await first.generate('Waves rolling onto a moonlit beach', 'Video')
  await first.page.getByRole('button', { name: 'Open Holdfast devtools' }).click()
  await first.page.getByRole('button', { name: 'Crash' }).click()
  await second.page.bringToFront()
  const panel = second.page.getByRole('region', { name: 'Holdfast devtools' })
  await panel.getByRole('table').getByText('Silent').waitFor()
  await second.page.screenshot({ path: `${folder}devtools.png`, animations: 'disabled' })
  await second.page.emulateMedia({ colorScheme: 'dark' })
  await second.page.screenshot({ path: `${folder}devtools-dark.png`, animations: 'disabled' })
}
