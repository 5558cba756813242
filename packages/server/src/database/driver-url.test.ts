import { describe, expect, it } from 'vitest'
import { driverUrl, looksPooled } from './driver-url.ts'

describe('the URL of a database', () => {
  it.each([
    ['postgres://u:p@db/app?pgbouncer=true&connection_limit=1', 'postgres://u:p@db/app'],
    [
      'postgres://u:p@db/app?sslmode=require&channel_binding=require',
      'postgres://u:p@db/app?sslmode=require',
    ],
    ['postgres://u:p@db/app?supa=base-pooler.x', 'postgres://u:p@db/app'],
    ['postgres://u:p%40@db:5432/app?sslmode=require', 'postgres://u:p%40@db:5432/app?sslmode=require'],
    ['postgres://u@one:5432,two:5432/app', 'postgres://u@one:5432,two:5432/app'],
  ])('%s becomes %s for the driver', (given, expected) => {
    expect(driverUrl(given)).toBe(expected)
  })

  it.each([
    ['postgres://u:p@aws-0-eu.pooler.supabase.com:6543/postgres', true],
    ['postgres://u:p@aws-0-eu.pooler.supabase.com:5432/postgres', false],
    ['postgres://u:p@ep-cool-fox-123-pooler.eu-central-1.aws.neon.tech/app', true],
    ['postgres://u:p@ep-cool-fox-123.eu-central-1.aws.neon.tech/app', false],
    ['postgres://u:p@db:6432/app?pgbouncer=true', true],
    ['postgres://u:p@db:6432/app', false],
    ['not a url', false],
  ])('%s leads to a transaction pooler by its looks: %s', (url, expected) => {
    expect(looksPooled(url)).toBe(expected)
  })
})
