import { describe, expect, it } from 'vitest'
import { createMemoryDisk } from '../../test/memory-disk.ts'
import { isObject } from '../environment/items.ts'
import { createKeep } from './kept.ts'

describe('a kept record', () => {
  it.each(['there is room', 'the disk is full', 'there is no disk'])(
    'whose change throws takes the changes after it, when %s',
    async (where) => {
      const { disk, setFull } = createMemoryDisk()
      setFull(where === 'the disk is full')
      const keep = createKeep(where === 'there is no disk' ? null : disk, () => {})
      const record = keep('key', isObject)
      await record.change(() => ({ a: 1 }))
      const broken = record.change(() => {
        throw new Error('of the caller')
      })
      await expect(broken).rejects.toThrow('of the caller')
      await record.change((held) => ({ ...held, b: 2 }))
      expect(await record.read()).toEqual({ a: 1, b: 2 })
    },
  )
})
