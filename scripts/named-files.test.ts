import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import config from '../vitest.config.ts'

const root = join(import.meta.dirname, '..')
const files = globSync('**/*', {
  cwd: root,
  exclude: (name) => /^(node_modules|dist|\.git|\.holdfast)$/.test(name.split('/').at(-1) ?? name),
})

/** `a/{b,c}.ts` names two files, and each of them has to be there. */
function expand(glob: string): string[] {
  const [whole, inner] = /\{([^{}]*)\}/.exec(glob) ?? []
  if (whole === undefined || inner === undefined) return [glob]
  return [...new Set(inner.split(',').flatMap((part) => expand(glob.replace(whole, () => part))))]
}

const read = (name: string) => readFileSync(join(root, name), 'utf8')
const matchesNothing = (glob: string) => globSync(glob, { cwd: root }).length === 0

describe('what names files by their place', () => {
  const projects = (config.test?.projects ?? []).map((project) =>
    typeof project === 'object' && 'test' in project ? project.test : undefined,
  )

  // A test that has moved must not drop out of a run in silence.
  it.each(projects.map((project) => [String(project?.name), project] as const))(
    'finds something for every pattern of the test project %s',
    (_, project) => {
      const { include = [], setupFiles = [], globalSetup = [] } = project ?? {}
      const named = [include, setupFiles, globalSetup].flat().flatMap(expand)
      expect(named.length).toBeGreaterThan(0)
      expect(named.filter(matchesNothing)).toEqual([])
    },
  )

  it('finds something for every pattern of the types of the tests', () => {
    const { include } = JSON.parse(read('tsconfig.tests.json'))
    expect(include.filter(matchesNothing)).toEqual([])
  })

  it('says so where a pattern finds nothing', () => {
    expect(expand('a/{b,c/{d,e}}.ts')).toEqual(['a/b.ts', 'a/c/d.ts', 'a/c/e.ts'])
    expect(matchesNothing('packages/server/src/gone/*.test.ts')).toBe(true)
  })

  it.each(['README.md', 'CONTRIBUTING.md', ...globSync('docs/*.md', { cwd: root })])(
    '%s names files and folders that are there',
    (name) => {
      // In the text only: blocks of code are about files of the reader's own.
      const text = read(name).replaceAll(/^```.*?^```/gms, '')
      const named = [...text.matchAll(/`([\w@./-]+)`/g)].map(([, code = '']) => code)
      const missing = named.filter((path) => {
        const isFile = /\.(ts|tsx|mjs|sql)$/.test(path)
        const isFolder = /^(packages|supabase|examples|e2e|bench|scripts)\/[\w./-]+$/.test(path)
        if (!isFile && !isFolder) return false
        return !existsSync(join(root, path)) && !files.some((file) => file.endsWith(`/${path}`))
      })
      expect(missing).toEqual([])
    },
  )
})
