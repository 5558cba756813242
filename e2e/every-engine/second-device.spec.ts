import { apiOf } from '../support/api.ts'
import { expect, test } from './fixtures.ts'

test('F7: another device gets a placeholder, then the result, and there is one message', async ({
  finish,
  holdfast,
  openDevice,
  openTab,
  person,
}) => {
  const first = await openTab()
  const prompt = '[stuck] a bridge over a fjord'
  await first.generate(prompt)

  const second = await openTab({ on: await openDevice() })
  await second.expectCard(prompt, { count: 1, hasProgress: true, origin: 'other-device' })

  await finish()
  await first.expectPicture(prompt)
  await second.expectPicture(prompt)
  expect(await (await apiOf(holdfast, person)).messages()).toHaveLength(1)
})
