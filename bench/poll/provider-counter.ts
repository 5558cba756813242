import { request } from 'undici'

/** Asks the provider how many polls it has answered; `reach` is answered when there were that many. */
export function createProviderCounter(providerUrl: string) {
  async function ask(path: string): Promise<number> {
    const { body } = await request(`${providerUrl}${path}`, { headersTimeout: 0, bodyTimeout: 0 })
    return Number(await body.text())
  }
  return {
    count: () => ask('/count'),
    reach: (count: number) => ask(`/when?count=${count}`),
  }
}
