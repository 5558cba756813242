import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, matchesGlob, relative } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { findPropertyFiles } from '../bench/properties/find-property-files.ts'
import { type PropertyReport, reportTo } from '../packages/shared/test/seed-properties.ts'
import config from '../vitest.config.ts'

const root = join(import.meta.dirname, '..')
const files = findPropertyFiles([join(root, 'packages'), join(root, 'supabase'), join(root, 'e2e')]).map(
  (file) => relative(root, file),
)

describe('properties', () => {
  it('are found where they are, also behind what a test imports', () => {
    expect(files).toContain('packages/server/src/work/work-model.test.ts')
    expect(files).toContain('packages/client/src/store/merge-tasks.test.ts')
    expect(files).toContain('packages/server/src/hot/memory-hot.test.ts')
    expect(files).toContain('packages/server/src/providers/kie/kie-contract.test.ts')
    const without = 'packages/server/src/work/send/accept-task.test.ts'
    expect(existsSync(join(root, without))).toBe(true)
    expect(files).not.toContain(without)
  })

  it('run with a fixed seed in every project that has any, unless the proof says another', () => {
    const projects = (config.test?.projects ?? []).map((project) =>
      typeof project === 'object' && 'test' in project ? project.test : undefined,
    )
    for (const file of files) {
      const own = projects.find((project) => project?.include?.some((glob) => matchesGlob(file, glob)))
      expect(own?.setupFiles, file).toContain('packages/shared/test/seed-properties.ts')
    }
    const { seed } = fc.check(fc.property(fc.nat(), () => true))
    expect(seed).toBe(Number(process.env.PROPERTY_SEED ?? 20261116))
  })

  it('report what they tried and, with seed and path, what they found, and are red all the same', () => {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-properties-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const file = join(folder, 'reports.jsonl')
    const options = { seed: 7, numRuns: 20, endOnFailure: true, reporter: reportTo(file) }
    fc.assert(
      fc.property(fc.nat(), () => true),
      options,
    )
    const isSmall = fc.property(fc.nat(1_000), (n) => n < 500)
    expect(() => fc.assert(isSmall, options)).toThrow('Property failed after')

    const reports: PropertyReport[] = readFileSync(file, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(reports).toMatchObject([
      { seed: 7, runs: 20, counterexample: null, test: expect.stringContaining('properties') },
      { seed: 7, counterexample: { path: expect.stringMatching(/^\d/), message: expect.any(String) } },
    ])
    // Put into the property's options, these show the same again.
    const path = reports[1]?.counterexample?.path ?? ''
    expect(fc.check(isSmall, { seed: 7, path, endOnFailure: true })).toMatchObject({
      failed: true,
      numRuns: 1,
    })
  })
})
