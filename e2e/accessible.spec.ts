import { expect, test } from './support/fixtures.ts'

test('the whole way by keyboard', async ({ openStudio }) => {
  const studio = await openStudio()
  await studio.page.getByRole('textbox', { name: 'Prompt' }).focus()
  await studio.page.keyboard.type('a small red boat')
  await studio.page.keyboard.press('Shift+Enter')
  await studio.page.keyboard.type('on a lake')
  await studio.page.keyboard.press('Enter')
  await expect(studio.page.getByRole('article')).toHaveCount(1)
  await expect(studio.page.getByRole('textbox', { name: 'Prompt' })).toBeFocused()
})

for (const width of [360, 1280]) {
  test(`nothing is cut off at ${width} px`, async ({ openStudio }) => {
    const studio = await openStudio()
    await studio.page.setViewportSize({ width, height: 720 })
    await studio.generate('averyveryverylongwordwithoutanyspaces'.repeat(4))
    const overflow = await studio.page.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    )
    expect(overflow).toBeLessThanOrEqual(0)
    await expect(studio.page.getByRole('textbox', { name: 'Prompt' })).toBeInViewport()
  })
}

test('finishes are announced to screen readers', async ({ openStudio }) => {
  const studio = await openStudio()
  await studio.generate('[fast] a paper crane')
  await expect(studio.page.getByRole('status').filter({ hasText: /a paper crane/ })).toBeAttached({
    timeout: 30_000,
  })
})
