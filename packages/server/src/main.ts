#!/usr/bin/env node
import { parseCommand, UsageError } from './cli/parse-command.ts'
import { type Config, readConfig } from './config.ts'
import { nodeProblem } from './node-version.ts'

async function main(args: string[]): Promise<void> {
  const problem = nodeProblem(process.versions.node)
  if (problem) throw new Error(problem)
  const parsed = parseCommand(args)
  if (parsed.kind === 'print') {
    console.info(parsed.text)
    return
  }
  const { name, values, rest } = parsed
  const config: Config = readConfig({
    ...process.env,
    ...(values.port === undefined ? {} : { PORT: values.port }),
    ...(values.host === undefined ? {} : { HOST: values.host }),
    ...(values['simulator-port'] === undefined ? {} : { SIMULATOR_PORT: values['simulator-port'] }),
    ...(values['data-dir'] === undefined ? {} : { HOLDFAST_DATA_DIR: values['data-dir'] }),
  })

  // Each command loads only what it needs: `migrate` no web server, `serve` no embedded database.
  switch (name) {
    case 'dev':
      return (await import('./cli/run-dev.ts')).runDev(config, {
        fresh: values.fresh,
        speed: number('--speed', values.speed ?? '1'),
      })
    case 'serve':
      return (await import('./cli/run-serve.ts')).runServe(config, { migrate: values.migrate })
    case 'migrate':
      return (await import('./cli/run-migrate.ts')).runMigrate(
        config,
        values.down === undefined ? {} : { down: number('--down', values.down) },
      )
    case 'simulate':
      return (await import('./cli/run-simulate.ts')).runSimulate(rest[0], {
        port: number('--port', values.port ?? '8788'),
        speed: number('--speed', values.speed ?? '1'),
        ...(values.state === undefined ? {} : { stateFile: values.state }),
        ...(values['file-ttl'] === undefined
          ? {}
          : { fileTtlMs: number('--file-ttl', values['file-ttl']) * 1_000 }),
      })
  }
}

function number(option: string, value: string): number {
  const parsed = Number(value)
  if (!Number.isFinite(parsed) || parsed < 0) throw new Error(`${option} is "${value}"; it must be a number.`)
  return parsed
}

try {
  await main(process.argv.slice(2))
  process.exit(0)
} catch (error) {
  console.error(`holdfast: ${error instanceof Error ? error.message : String(error)}`)
  process.exit(error instanceof UsageError ? 2 : 1)
}
