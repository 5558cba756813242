import type { Level } from './level.ts'

/** Where nothing is atomic, or tabs cannot hear each other: every tab looks after itself, by polling. */
export function createEveryTabLevel(): Level {
  const tryTake = async () => ({
    epoch: 0,
    lost: new Promise<void>(() => {}),
    renew: async () => true,
    release() {},
  })
  return {
    name: 'every-tab',
    exclusive: false,
    freesItself: true,
    tryTake,
    waitFor: tryTake,
    steal: tryTake,
  }
}
