/** Runs in the browser. */
import { createClient, type Transport } from '@holdfast/client'

export interface RoundsOptions {
  /** Shared by all tabs of one run. */
  name: string
  /** When the first round begins, by everybody's clock. */
  beginAt: number
  rounds: number
  /** How long a round takes, after how much of it whoever leads leaves, and after how much all the others do. */
  roundMs: number
  leaderLeavesMs: number
  allLeaveMs: number
}

/** One time that one tab led. */
export interface Reign {
  round: number
  epoch: number
  from: number
  to: number
}

export interface RoundsReport {
  reigns: Reign[]
  /** Rounds that this tab began too late to be one of those who began together. */
  late: number
  levels: string[]
}

const now = () => performance.timeOrigin + performance.now()
const never = () => new Promise<never>(() => {})

/** No server: who leads is decided in the browser alone. */
const silent = (): Transport => ({
  sync: never,
  submit: never,
  cancel: never,
  retry: never,
  save: never,
})

async function waitUntil(at: number) {
  const left = at - now()
  if (left > 4) await new Promise((resolve) => setTimeout(resolve, left - 4))
  // Timers are a few milliseconds late, each tab's by others: the last ones are counted out.
  while (now() < at);
}

export async function runRoundsHere(options: RoundsOptions): Promise<RoundsReport> {
  const reigns: Reign[] = []
  const levels = new Set<string>()
  let late = 0

  async function play(round: number) {
    const beginAt = options.beginAt + round * options.roundMs
    // One database for all, as a page that has been here before finds it; locks and leases are the user's.
    const client = createClient({ app: options.name, transport: silent })
    let reign: Reign | undefined
    client.store.subscribe(({ role }) => {
      if (role !== 'leader') end()
      else if (!reign) {
        reign = { round, epoch: client.inspect().session?.epoch ?? 0, from: now(), to: Infinity }
        reigns.push(reign)
      }
    })
    function end() {
      if (reign) reign.to = now()
      reign = undefined
    }

    await waitUntil(beginAt)
    if (now() - beginAt > 10) late++
    void client.setUser({ id: `round ${round}`, getToken: () => 'none' })
    await waitUntil(beginAt + options.leaderLeavesMs)
    levels.add(client.inspect().session?.level ?? 'none')
    if (!reign) await waitUntil(beginAt + options.allLeaveMs)
    end()
    await client.close()
  }

  for (let round = 0; round < options.rounds; round++) await play(round)
  return { reigns, late, levels: [...levels] }
}
