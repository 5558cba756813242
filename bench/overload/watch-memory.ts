import { residentBytes } from '../poll/resident-bytes.ts'

const EVERY_MS = 200
const MB = 1024 * 1024

/** Looks at a process's memory five times a second, until it is stopped. */
export function watchMemory(pid: number) {
  const samples: { at: number; mb: number }[] = []
  const timer = setInterval(async () => {
    const mb = (await residentBytes(pid)) / MB
    if (Number.isFinite(mb)) samples.push({ at: performance.now(), mb })
  }, EVERY_MS)
  return {
    /** In MB, between two times by this process's own clock. */
    most: (from: number, to: number) =>
      Math.max(...samples.filter(({ at }) => at >= from && at < to).map(({ mb }) => mb)),
    stop: () => clearInterval(timer),
  }
}
