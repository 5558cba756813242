import { expect, test } from 'vitest'
import { COMMANDS } from './commands.ts'
import { parseCommand, UsageError } from './parse-command.ts'

const problem = (...args: string[]) => {
  try {
    return `no problem: ${JSON.stringify(parseCommand(args))}`
  } catch (error) {
    return error instanceof UsageError ? error.message : `not a usage error: ${error}`
  }
}

test.each([
  [['sevre'], 'There is no command "sevre". Did you mean "serve"?\n"holdfast --help" lists the commands.'],
  [
    ['migrations'],
    'There is no command "migrations". Did you mean "migrate"?\n"holdfast --help" lists the commands.',
  ],
  [['polish'], 'There is no command "polish".\n"holdfast --help" lists the commands.'],
  [['toString'], 'There is no command "toString".\n"holdfast --help" lists the commands.'],
  [
    ['help', 'sevre'],
    'There is no command "sevre". Did you mean "serve"?\n"holdfast --help" lists the commands.',
  ],
  [
    ['serve', '--prot', '80'],
    '"serve" has no option "--prot". Did you mean "--port"?\n"holdfast serve --help" lists them.',
  ],
  [['serve', '-x'], '"serve" has no option "-x".\n"holdfast serve --help" lists them.'],
  [['--frehs'], 'There is no option "--frehs".\n"holdfast --help" lists the commands.'],
  // Elsewhere there is such an option.
  [['migrate', '--fresh'], '"migrate" has no option "--fresh".\n"holdfast migrate --help" lists them.'],
  [['dev', '--port'], 'Option \'--port <value>\' argument missing\n"holdfast dev --help" lists the options.'],
  [
    ['dev', 'studio'],
    '"dev" takes nothing more, but "studio" was given.\n"holdfast dev --help" says how it is used.',
  ],
])('%j is refused in two lines, the reason first', (args, said) => {
  expect(problem(...args)).toBe(said)
})

test('each command takes the options that its help names, and no others', () => {
  for (const [name, { text }] of Object.entries(COMMANDS)) {
    const named = [...new Set([...text.matchAll(/^ {2}(--[a-z-]+)/gm)].map(([, option = '']) => option))]
    for (const option of named) {
      expect(problem(name, option), `${name} ${option}`).not.toContain('has no option')
    }
    const others = ['--port', '--fresh', '--migrate', '--down', '--state', '--file-ttl', '--simulator-port']
    for (const option of others.filter((each) => !text.includes(each))) {
      expect(problem(name, option)).toContain(`"${name}" has no option "${option}"`)
    }
  }
})

test.each([
  [[], 'holdfast COMMAND --help'],
  [['--help'], 'holdfast COMMAND --help'],
  [['help'], 'holdfast COMMAND --help'],
  [['serve', '--help'], 'Needs DATABASE_URL'],
  [['help', 'serve'], 'Needs DATABASE_URL'],
  [['serve', '-h'], 'Needs DATABASE_URL'],
])('%j is answered with help', (args, part) => {
  const parsed = parseCommand(args)
  expect(parsed.kind === 'print' && parsed.text).toContain(part)
})

test.each([[['--version']], [['-v']]])('%j is answered with the version', (args) => {
  expect(parseCommand(args)).toEqual({ kind: 'print', text: expect.stringMatching(/^\d+\.\d+\.\d+/) })
})

test('a command is run with its options', () => {
  expect(parseCommand(['simulate', 'fal', '--port', '0'])).toMatchObject({
    kind: 'run',
    name: 'simulate',
    values: { port: '0' },
    rest: ['fal'],
  })
})
