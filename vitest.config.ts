import { defineConfig } from 'vitest/config'

const source = { conditions: ['holdfast-source', 'node', 'import', 'default'] }

/**
 * Packages import each other by name; `holdfast-source` makes that mean their sources, so that a test
 * never runs against a stale build.
 */
const inNode = { resolve: source, ssr: { resolve: source } }

/** For the projects that hold properties. */
const setupFiles = ['packages/shared/test/seed-properties.ts']

export default defineConfig({
  ...inNode,
  test: {
    projects: [
      {
        ...inNode,
        test: {
          name: 'rules',
          setupFiles,
          include: ['packages/shared/src/**/*.test.ts', 'scripts/**/*.test.ts'],
        },
      },
      {
        ...inNode,
        test: {
          name: 'studio',
          include: ['examples/studio/src/**/*.test.ts'],
        },
      },
      {
        ...inNode,
        test: {
          name: 'client',
          setupFiles,
          include: ['packages/client/src/**/*.test.{ts,tsx}'],
        },
      },
      {
        ...inNode,
        test: {
          name: 'server',
          setupFiles,
          include: ['packages/server/src/**/*.test.ts', 'supabase/tests/**/*.test.ts'],
          globalSetup: ['packages/server/test/postgres-for-tests.ts'],
          testTimeout: 20_000,
          hookTimeout: 60_000,
        },
      },
      {
        ...inNode,
        test: {
          // The oldest PostgreSQL that is promised to work: the schema, and the statements that everything rests on.
          name: 'oldest-postgres',
          include: [
            'supabase/tests/**/*.test.ts',
            'packages/server/src/engine/claim-within-budget.test.ts',
            'packages/server/src/work/{copy/claim-copies,poll/claim-polls,send/accept-task,send/claim-sends}.test.ts',
            'packages/server/src/tasks/{create-submit,create-task,settle-task,sync-tasks}.test.ts',
          ],
          globalSetup: ['packages/server/test/debian-postgres-for-tests.ts'],
          testTimeout: 20_000,
          hookTimeout: 60_000,
        },
      },
      {
        ...inNode,
        test: {
          name: 'poller',
          include: ['e2e/poller/**/*.test.ts'],
          testTimeout: 180_000,
          hookTimeout: 120_000,
        },
      },
      {
        ...inNode,
        test: {
          name: 'replicas',
          include: ['e2e/replicas/**/*.test.ts'],
          testTimeout: 180_000,
          hookTimeout: 120_000,
        },
      },
      {
        ...inNode,
        test: {
          name: 'tabs',
          include: ['e2e/tabs/**/*.test.ts'],
          testTimeout: 180_000,
          hookTimeout: 120_000,
        },
      },
      {
        ...inNode,
        test: {
          name: 'money',
          include: ['e2e/money/**/*.test.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        ...inNode,
        test: {
          name: 'crash',
          include: ['e2e/crash/**/*.test.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
})
