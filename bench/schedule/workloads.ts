/** Durations of one type of task: a mixture of log-normal humps. */
export interface Workload {
  name: string
  minPollMs: number
  humps: readonly { share: number; medianMs: number; sigma: number }[]
}

/**
 * Image: 8 of 10 take 20–44 s. Video: 8 of 10 take 1:48–5:00, 1 of 100 more than 7:30. Two humps: a model that is
 * warm 6 times in 10.
 */
export const workloads: readonly Workload[] = [
  { name: 'image', minPollMs: 2_000, humps: [{ share: 1, medianMs: 30_000, sigma: 0.3 }] },
  { name: 'video', minPollMs: 2_000, humps: [{ share: 1, medianMs: 180_000, sigma: 0.4 }] },
  {
    name: 'two humps',
    minPollMs: 2_000,
    humps: [
      { share: 0.6, medianMs: 15_000, sigma: 0.2 },
      { share: 0.4, medianMs: 240_000, sigma: 0.25 },
    ],
  },
]

function drawDuration({ humps }: Workload, random: () => number): number {
  let rest = random()
  const hump = humps.find(({ share }) => {
    rest -= share
    return rest < 0
  })
  if (!hump) throw new Error('the shares of the humps have to add up to 1')
  const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
  return hump.medianMs * Math.exp(hump.sigma * normal)
}

export function drawDurations(workload: Workload, count: number, random: () => number): number[] {
  return Array.from({ length: count }, () => drawDuration(workload, random))
}

export function fasterBy(workload: Workload, factor: number): Workload {
  if (factor === 1) return workload
  const humps = workload.humps.map((hump) => ({ ...hump, medianMs: hump.medianMs / factor }))
  return { ...workload, humps }
}

/** The part of all tasks that has finished by this age, by the true distribution. */
export function finishedBy({ humps }: Workload, ageMs: number): number {
  if (ageMs <= 0) return 0
  return humps.reduce(
    (sum, { share, medianMs, sigma }) => sum + share * normalCdf(Math.log(ageMs / medianMs) / sigma),
    0,
  )
}

/** Abramowitz and Stegun 26.2.17, good to 7.5e-8. */
function normalCdf(x: number): number {
  const t = 1 / (1 + 0.2316419 * Math.abs(x))
  const poly =
    t * (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))))
  const upper = (Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI)) * poly
  return x < 0 ? upper : 1 - upper
}
