import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'

/** A fenced block of a page: commands, or a file to be written as it stands there. */
export type Block = { kind: 'commands'; lines: string[] } | { kind: 'file'; path: string; text: string }

const FENCE = /^```(\S*) ?(.*)\n([\s\S]*?)^```$/gm

/** All of them, in order. One that is neither commands nor a file cannot be followed, and so must not be there. */
export async function readBlocks(page: string): Promise<Block[]> {
  const text = await readFile(page, 'utf8')
  return [...text.matchAll(FENCE)].map(([, language, path, body = '']): Block => {
    if (language === 'sh') return { kind: 'commands', lines: body.trim().split('\n') }
    if (path) return { kind: 'file', path, text: body }
    throw new Error(`A block of ${page} has no file name after \`\`\`${language}:\n${body}`)
  })
}

export interface Running {
  /** Everything it has said so far, without colours. */
  output(): string
  stop(): Promise<void>
}

/** A reader's terminal: goes where `cd` goes, and remembers what runs. */
export function openTerminal(folder: string, env: Record<string, string>) {
  const running: Running[] = []
  let cwd = folder

  function start(command: string): { child: ChildProcess; output(): string } {
    const child = spawn(command, {
      cwd,
      shell: true,
      // A group of its own: npm and npx start the program they are asked for, which must end with them.
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...env },
    })
    let text = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (part) => {
        text += part
      })
    }
    return { child, output: () => stripVTControlCharacters(text) }
  }

  return {
    async write(path: string, text: string): Promise<void> {
      await mkdir(dirname(join(cwd, path)), { recursive: true })
      await writeFile(join(cwd, path), text)
    },

    /** Runs it to its end; what went wrong is in the error. */
    async run(command: string): Promise<void> {
      const target = /^cd (\S+)$/.exec(command)?.[1]
      if (target) {
        cwd = join(cwd, target)
        return
      }
      const { child, output } = start(command)
      const [code] = await once(child, 'close')
      if (code !== 0) throw new Error(`"${command}" ended with ${code}:\n${output()}`)
    },

    /** Leaves it running once it says that it is ready. */
    async runUntil(command: string, ready: RegExp): Promise<Running> {
      const { child, output } = start(command)
      const exited = once(child, 'close')
      running.push({
        output,
        async stop() {
          if (child.exitCode === null && child.signalCode === null && child.pid) {
            process.kill(-child.pid, 'SIGTERM')
          }
          await exited
        },
      })
      await new Promise<void>((resolve, reject) => {
        const look = () => ready.test(output()) && resolve()
        child.stdout?.on('data', look)
        exited.then(([code]) => reject(new Error(`"${command}" ended with ${code}:\n${output()}`)))
      })
      return running.at(-1) as Running
    },

    async close(): Promise<void> {
      await Promise.all(running.splice(0).map((each) => each.stop()))
    },
  }
}
