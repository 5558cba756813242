import { parseArgs } from 'node:util'
import { readVersion } from '../version.ts'
import { COMMANDS, type CommandName, environment, overview } from './commands.ts'
import { nearestName } from './nearest-name.ts'

const OPTIONS = {
  help: { type: 'boolean', short: 'h', default: false },
  version: { type: 'boolean', short: 'v', default: false },
  port: { type: 'string' },
  host: { type: 'string' },
  'simulator-port': { type: 'string' },
  'data-dir': { type: 'string' },
  fresh: { type: 'boolean', default: false },
  migrate: { type: 'boolean', default: false },
  down: { type: 'string' },
  state: { type: 'string' },
  speed: { type: 'string' },
  'file-ttl': { type: 'string' },
} as const

type OptionName = keyof typeof OPTIONS

const OPTIONS_OF: Record<CommandName, OptionName[]> = {
  dev: ['port', 'host', 'simulator-port', 'data-dir', 'fresh', 'speed'],
  serve: ['port', 'host', 'data-dir', 'migrate'],
  migrate: ['down'],
  simulate: ['port', 'state', 'speed', 'file-ttl'],
}

/** What was typed cannot be understood. The first line says why, the second where help is. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

type Values = ReturnType<typeof parseStrictly>['values']

export type Parsed =
  | { kind: 'print'; text: string }
  | { kind: 'run'; name: CommandName; values: Values; rest: string[] }

/** What a command line asks for. */
export function parseCommand(args: readonly string[]): Parsed {
  // Read without errors first: they depend on the command, which may come after the option that is wrong.
  const { positionals } = parseLoosely(args)
  const [first, ...rest] = positionals
  const named = first === 'help' ? rest[0] : first
  if (named !== undefined && !isCommand(named)) {
    throw new UsageError(
      `There is no command "${named}".${didYouMean(named, Object.keys(COMMANDS))}\n"holdfast --help" lists the commands.`,
    )
  }
  checkOptions(args, named)
  const { values } = parseStrictly(args, named)
  if (values.version) return { kind: 'print', text: readVersion() }
  if (named === undefined) return { kind: 'print', text: overview() }
  if (values.help || first === 'help') {
    return { kind: 'print', text: `${COMMANDS[named].text}\n\n${environment()}` }
  }
  const extra = named === 'simulate' ? rest[1] : rest[0]
  if (extra !== undefined) {
    throw new UsageError(
      `"${named}" takes nothing more, but "${extra}" was given.\n"holdfast ${named} --help" says how it is used.`,
    )
  }
  return { kind: 'run', name: named, values, rest }
}

function parseLoosely(args: readonly string[]) {
  return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true, strict: false, tokens: true })
}

function checkOptions(args: readonly string[], command: CommandName | undefined): void {
  const own: string[] = ['help', 'version', ...(command ? OPTIONS_OF[command] : [])]
  for (const token of parseLoosely(args).tokens) {
    if (token.kind !== 'option' || own.includes(token.name)) continue
    if (!command) {
      throw new UsageError(`There is no option "${token.rawName}".\n"holdfast --help" lists the commands.`)
    }
    const meant = didYouMean(
      token.rawName,
      own.map((name) => `--${name}`),
    )
    throw new UsageError(
      `"${command}" has no option "${token.rawName}".${meant}\n"holdfast ${command} --help" lists them.`,
    )
  }
}

/** What is left to go wrong is a value that is missing, or one too many. */
function parseStrictly(args: readonly string[], command: CommandName | undefined) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true })
  } catch (error) {
    const [reason = ''] = (error instanceof Error ? error.message : String(error)).split('\n')
    throw new UsageError(`${reason}\n"holdfast ${command ? `${command} ` : ''}--help" lists the options.`)
  }
}

function isCommand(name: string): name is CommandName {
  return Object.hasOwn(COMMANDS, name)
}

function didYouMean(given: string, names: readonly string[]): string {
  const meant = nearestName(given, names)
  return meant === null ? '' : ` Did you mean "${meant}"?`
}
