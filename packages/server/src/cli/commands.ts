import { ENVIRONMENT } from '../config.ts'
import { SIMULATORS } from './simulators.ts'

export interface CommandHelp {
  summary: string
  text: string
}

/** What `holdfast --help` and `holdfast COMMAND --help` print. */
export const COMMANDS = {
  dev: {
    summary: 'run everything on this machine: database, provider simulator, API and the studio',
    text: `holdfast dev [--port 8787] [--host 127.0.0.1] [--simulator-port 8788] [--data-dir .holdfast] [--fresh]
             [--speed 1]

  Starts an embedded PostgreSQL, a simulator of KIE's API and the server, and serves the studio at /.
  With the key of a provider that one is used instead of the simulator; with DATABASE_URL your own
  PostgreSQL (then sign-in by name is off and tokens are checked as in "serve").

  --port             where the API and the studio listen
  --host             0.0.0.0 to be reached from other machines, and inside a container
  --simulator-port   where the simulator listens
  --data-dir         where the database and the simulator keep their data
  --fresh            forget what earlier runs left there
  --speed            2 makes the simulator twice as fast`,
  },
  serve: {
    summary: 'run the API and the poller against your PostgreSQL',
    text: `holdfast serve [--port 8787] [--host 127.0.0.1] [--data-dir .holdfast] [--migrate]

  Needs DATABASE_URL, the key of at least one provider (say KIE_API_KEY) and a way to check tokens
  (SUPABASE_URL, SUPABASE_JWT_SECRET, JWKS_URL or JWT_SECRET). DATABASE_URL may lead to a pooler in transaction
  mode: set DIRECT_URL beside it. SIGTERM and Ctrl-C stop it in good order.

  --port             where to listen
  --host             0.0.0.0 to be reached from other machines, and inside a container
  --data-dir         where result files are kept, unless in a bucket
  --migrate          bring the schema up to date first`,
  },
  migrate: {
    summary: 'bring the schema of DATABASE_URL up to date',
    text: `holdfast migrate [--down N]

  Applies the migrations that are missing, each in a transaction of its own, over DIRECT_URL where that is set.
  Safe to run again, and from several machines at once. The owner of the database may do it.

  --down N           take the newest N migrations back instead (data in them is lost)`,
  },
  simulate: {
    summary: 'run a simulator of a provider for your own tests',
    text: `holdfast simulate PROVIDER [--port 8788] [--state FILE] [--speed 1] [--file-ttl 1200]

  An HTTP server that behaves like the provider's API. PROVIDER is one of
  ${Object.keys(SIMULATORS).join(', ')}.
  Words in square brackets in the prompt make it fail in known ways; docs/PROVIDERS.md lists them. What it was
  asked is at GET /simulator/requests; POST /simulator/script says what becomes of the next generation.

  --port             where to listen
  --state            a file in which its tasks survive a restart
  --speed            2 is twice as fast
  --file-ttl         for how many seconds links to results work`,
  },
} satisfies Record<string, CommandHelp>

export type CommandName = keyof typeof COMMANDS

export function overview(): string {
  const commands = Object.entries(COMMANDS).map(([name, { summary }]) => `  ${name.padEnd(10)}${summary}`)
  return `holdfast: long AI generations that survive refresh, crash, log-out and a change of device

Usage: holdfast COMMAND [options]        holdfast COMMAND --help        holdfast --version

${commands.join('\n')}

${environment()}`
}

export function environment(): string {
  const width = Math.max(...ENVIRONMENT.map(([name]) => name.length))
  return `Environment:\n${ENVIRONMENT.map(([name, meaning]) => `  ${name.padEnd(width)} ${meaning}`).join('\n')}`
}
