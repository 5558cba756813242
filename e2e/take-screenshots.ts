import { fileURLToPath } from 'node:url'
import { chromium } from '@playwright/test'
import { chromiumPath } from './engines/browser-paths.ts'
import { startHoldfast } from './support/holdfast-process.ts'
import { Studio } from './support/studio.ts'

/** Takes the README's screenshots anew: `node --conditions=holdfast-source e2e/take-screenshots.ts`. */
const folder = fileURLToPath(new URL('../docs/images/', import.meta.url))
const holdfast = await startHoldfast()
const browser = await chromium.launch({ executablePath: chromiumPath(), args: ['--no-sandbox'] })
try {
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
} finally {
  await browser.close()
  await holdfast.stop()
}
