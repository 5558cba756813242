import { expect, test } from 'vitest'
import { deviceFrom, otherDeviceUrl } from './device.ts'

test('without a device in the address the browser itself is the device', () => {
  expect(deviceFrom('')).toEqual({ name: null, app: 'studio', suggestedPerson: null })
})

test('a device in the address has a scope of its own', () => {
  expect(deviceFrom('?device=phone').app).toBe('studio:phone')
})

test('the other device is offered the same person, under another scope', () => {
  const here = deviceFrom('?device=phone')
  const other = deviceFrom(otherDeviceUrl(here, 'Ada & Co'))
  expect(other.suggestedPerson).toBe('Ada & Co')
  expect(other.app).not.toBe(here.app)
})
