import { startEmbeddedPostgres } from '../src/embedded-postgres/start-embedded-postgres.ts'

/**
 * A process that runs an embedded server, for tests that kill it: says what it started as one line of JSON,
 * stops on SIGTERM, and with `exit` leaves at once without stopping.
 */
const [dataDir = '', systemDir = '', afterwards] = process.argv.slice(2)
process.once('SIGTERM', () => void server.then(({ stop }) => stop()))
const keepAlive = setInterval(() => {}, 60_000)
const server = startEmbeddedPostgres({ dataDir, systemDir, settings: { fsync: 'off' } })
try {
  const { stop, ...facts } = await server
  process.stdout.write(`${JSON.stringify(facts)}\n`, () => {
    if (afterwards === 'exit') process.exit()
  })
  process.once('SIGTERM', () => clearInterval(keepAlive))
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`)
  process.exit(1)
}
