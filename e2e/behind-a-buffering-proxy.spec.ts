import { freePort } from '../packages/server/test/free-port.ts'
import { startTestNginx } from '../packages/server/test/nginx-for-tests.ts'
import { expect, test } from './support/fixtures.ts'
import { Studio } from './support/studio.ts'

/** As some companies have it: not even the headers are passed on before a buffer is full, whatever the answer asks for. */
const HOLDS_BACK = 'proxy_buffering on; proxy_ignore_headers X-Accel-Buffering;'
const PASSES_ON = 'add_header X-Passes-On yes;'

test('E6, C4: behind a proxy that holds everything back the page polls, and is back on push when it no longer does', async ({
  context,
  holdfast,
  person,
}) => {
  test.setTimeout(120_000)
  const port = await freePort()
  const settings = (how: string) => `
    server {
      listen 127.0.0.1:${port};
      location / { proxy_pass ${holdfast.url}; proxy_set_header Host $host; ${how} }
    }`
  const url = `http://127.0.0.1:${port}`
  // The development login is refused behind a proxy; real apps have a login of their own.
  await context.route('**/dev/login', async (route) => {
    const answer = await fetch(`${holdfast.url}/dev/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: route.request().postData(),
    })
    await route.fulfill({ status: answer.status, contentType: 'application/json', body: await answer.text() })
  })
  const nginx = await startTestNginx({ port, http: settings(HOLDS_BACK) })
  try {
    const studio = new Studio(await context.newPage(), { ...holdfast, url })
    await studio.open()
    await studio.signIn(person)
    await expect(studio.panel).toHaveAttribute('data-connection', 'polling', { timeout: 30_000 })

    const prompt = 'a letter behind glass'
    await studio.generate(prompt)
    await expect
      .poll(() => studio.progress(prompt).getAttribute('aria-valuenow'), { timeout: 30_000 })
      .not.toBe('0')
    await studio.expectPicture(prompt)
    await expect(studio.panel).toHaveAttribute('data-connection', 'polling')

    // Out of that network: the browser says so itself, and push gets its chance at once instead of within a minute.
    await nginx.reload(settings(PASSES_ON))
    const passesOn = async () => (await fetch(`${url}/healthz`)).headers.get('x-passes-on')
    await expect.poll(passesOn).toBe('yes')
    await context.setOffline(true)
    await context.setOffline(false)
    await expect(studio.panel).toHaveAttribute('data-connection', 'push', { timeout: 30_000 })
    const next = 'a letter in the hand'
    await studio.generate(next)
    await studio.expectPicture(next)
    await expect(studio.panel).toHaveAttribute('data-connection', 'push')
  } finally {
    await nginx.stop()
  }
})
