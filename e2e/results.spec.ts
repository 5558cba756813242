import { expect, test } from './support/fixtures.ts'

test('O1, O2: the picture shows from the provider first and moves to our store without a flicker', async ({
  holdfast,
  openStudio,
}) => {
  const studio = await openStudio()
  const prompt = '[fast] [media-slow] a lighthouse at dusk'
  await studio.generate(prompt)
  const picture = studio.picture(prompt)
  await expect(picture).toBeVisible({ timeout: 30_000 })
  const first = await picture.getAttribute('src')
  expect(new URL(first ?? '').origin).not.toBe(new URL(holdfast.url).origin)

  // Watches every frame from the moment it is loaded: it must never be empty again.
  await picture.evaluate((image: HTMLImageElement) => {
    const seen = { sources: [image.currentSrc], emptyFrames: 0, wasLoaded: false }
    Object.assign(window, { seen })
    const look = () => {
      const current = document.querySelector<HTMLImageElement>(`img[alt="${image.alt}"]`)
      if (current?.complete && current.naturalWidth > 0) seen.wasLoaded = true
      else if (seen.wasLoaded) seen.emptyFrames += 1
      if (current && seen.sources.at(-1) !== current.currentSrc) seen.sources.push(current.currentSrc)
      requestAnimationFrame(look)
    }
    look()
  })
  await expect(picture).toHaveAttribute('src', /\/files\/results\//, { timeout: 60_000 })
  await studio.expectPicture(prompt)
  const seen = await studio.page.evaluate(
    () => (window as unknown as { seen: { sources: string[]; emptyFrames: number } }).seen,
  )
  expect(seen.emptyFrames).toBe(0)

  // And it is still there after a reload, from our own address, once the provider's is dead.
  await studio.page.reload()
  await studio.expectPicture(prompt)
  await expect(studio.picture(prompt)).toHaveAttribute('src', /\/files\/results\//)
})

test('F8, F13: credits are held, spent on success and back after a failure', async ({ openStudio }) => {
  const studio = await openStudio()
  const badge = studio.page.getByText(/^[\d,.\s]+ credits?( \+ \d+ held)?$/)
  await expect(badge).toHaveText(/^1,?000 credits$/)

  await studio.generate('[fast] a red kite')
  await expect(badge).toHaveText(/^996 credits/)
  await studio.expectPicture('[fast] a red kite')
  await expect(badge).toHaveText(/^996 credits$/)

  await studio.generate('[fast] [fail] a broken vase')
  await expect(studio.card('[fast] [fail] a broken vase')).toContainText('4 credits are back.', {
    timeout: 30_000,
  })
  await expect(badge).toHaveText(/^996 credits$/)
})
