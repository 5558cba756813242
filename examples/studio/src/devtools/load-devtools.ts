import type { Environment, HoldfastClient } from '@holdfast/client'

export interface LoadedDevtools {
  environment: Environment
  mount(client: HoldfastClient): void
}

/** Always while the studio itself is worked on; elsewhere with `?devtools` in the address. */
export function wantsDevtools(search: string): boolean {
  return import.meta.env.DEV || new URLSearchParams(search).has('devtools')
}

/** The same page, with devtools. */
export function devtoolsUrl({ search, hash }: Pick<Location, 'search' | 'hash'>): string {
  const query = new URLSearchParams(search)
  query.set('devtools', '')
  return `?${query}${hash}`
}

/** A file of its own, which other visitors never load. */
export async function loadDevtools(): Promise<LoadedDevtools> {
  const { createSimulation, mountDevtools } = await import('@holdfast/client/devtools')
  const simulation = createSimulation()
  return {
    environment: simulation.environment,
    mount: (client) => void mountDevtools(client, { simulation }),
  }
}
