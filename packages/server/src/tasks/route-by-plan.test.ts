import { describe, expect, it } from 'vitest'
import { parseRouteByPlan, routeByPlan } from './route-by-plan.ts'
import { defaultTaskTypes } from './task-types.ts'

const laneOf = (plan: string | null, type: string, byPlan?: Parameters<typeof routeByPlan>[2]) =>
  routeByPlan({ plan, type }, defaultTaskTypes, byPlan)

describe('the lane of a new task', () => {
  it.each([
    [null, 'image', 'free_default'],
    ['free', 'video', 'free_default'],
    ['pro', 'image', 'vip_short'],
    ['pro', 'video', 'vip_long'],
    ['anything that is paid', 'image', 'vip_short'],
    ['enterprise', 'image', 'enterprise_exclusive'],
    ['enterprise', 'video', 'enterprise_exclusive'],
    ['pro', 'a type that is no longer offered', 'vip_short'],
  ])('of the plan %j and the type %j is %s', (plan, type, lane) => {
    expect(laneOf(plan, type)).toBe(lane)
  })

  it('is what the operator says, and free_default for plans that are not named', () => {
    const byPlan = parseRouteByPlan('gold=enterprise_exclusive, silver = vip_long / free_default')
    expect(laneOf('gold', 'video', byPlan)).toBe('enterprise_exclusive')
    expect(laneOf('silver', 'image', byPlan)).toBe('vip_long')
    expect(laneOf('silver', 'video', byPlan)).toBe('free_default')
    expect(laneOf('pro', 'image', byPlan)).toBe('free_default')
    expect(laneOf('constructor', 'image', byPlan)).toBe('free_default')
  })

  it.each([
    'pro',
    'pro=',
    '=vip_short',
    'pro=fast',
    'pro=vip_short/slow',
    'pro=vip_short/vip_long/x',
    'a=b=c',
  ])('cannot be read from %j, and the error names the lanes', (text) => {
    expect(() => parseRouteByPlan(text)).toThrow(/enterprise_exclusive, vip_short, vip_long, free_default/)
  })
})
