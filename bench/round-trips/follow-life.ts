import type { VendorEvents } from '../lifecycle/vendor.ts'

/** When the vendor saw each thing happen to one generation, by the clock of `performance.now`. */
export interface VendorTimes {
  createdAt: number
  /** Of the poll that was told it is done. */
  doneAt: number
  fetchedAt: number
}

/** Listens at the vendor, and resolves to what it saw when the file of a generation was fetched. */
export function followLives(): { events: VendorEvents; follow(prompt: string): Promise<VendorTimes> } {
  const lives = new Map<string, VendorTimes>()
  const ends = new Map<string, PromiseWithResolvers<VendorTimes>>()
  const endOf = (prompt: string) => {
    const known = ends.get(prompt) ?? Promise.withResolvers<VendorTimes>()
    ends.set(prompt, known)
    return known
  }
  return {
    events: {
      onCreate: (prompt) =>
        void lives.set(prompt, { createdAt: performance.now(), doneAt: Number.NaN, fetchedAt: Number.NaN }),
      onQuery(prompt, isDone) {
        const life = lives.get(prompt)
        if (life && isDone) life.doneAt = performance.now()
      },
      onFile(prompt) {
        const life = lives.get(prompt)
        if (!life) return
        life.fetchedAt = performance.now()
        endOf(prompt).resolve(life)
      },
    },
    follow: (prompt) => endOf(prompt).promise,
  }
}
