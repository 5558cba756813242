import { expectTypeOf, test } from 'vitest'
import type {
  AnyTaskOf,
  AnyTasks,
  FilesResult,
  Shaped,
  TaskCatalog,
  TaskInput,
  TaskOf,
  TaskShape,
  TaskTypeName,
  TaskTypesOf,
} from './task-catalog.ts'

type Picture = Shaped<
  TaskShape<{ prompt: string; size?: number }, { prompt: string; size: number }, FilesResult>
>
type Clip = Shaped<
  TaskShape<{ scene: string }, { scene: string }, { outputs: [FilesResult['outputs'][number]] }>
>
type Types = {
  picture: Picture & { deadlineMs: number }
  clip: Clip
  loose: { deadlineMs: number }
}
type Catalog = TaskTypesOf<Types>

test('a catalog has what goes in and what comes out of each type', () => {
  expectTypeOf<Catalog>().toExtend<TaskCatalog>()
  expectTypeOf<TaskTypeName<Catalog>>().toEqualTypeOf<'picture' | 'clip' | 'loose'>()
  expectTypeOf<TaskInput<Catalog, 'picture'>>().toEqualTypeOf<{ prompt: string; size?: number }>()
  expectTypeOf<TaskOf<Catalog, 'picture'>['params']>().toEqualTypeOf<{ prompt: string; size: number }>()
  expectTypeOf<TaskOf<Catalog, 'picture'>['result']>().toEqualTypeOf<FilesResult | null>()
  expectTypeOf<TaskOf<Catalog, 'picture'>['version']>().toEqualTypeOf<number>()
})

test('a type that says nothing about itself takes anything', () => {
  expectTypeOf<TaskInput<Catalog, 'loose'>>().toEqualTypeOf<Record<string, unknown>>()
  expectTypeOf<TaskInput<AnyTasks, 'whatever'>>().toEqualTypeOf<Record<string, unknown>>()
})

test('what does not fit does not compile', () => {
  // @ts-expect-error: there is no such type
  type _Unknown = TaskInput<Catalog, 'music'>
  // @ts-expect-error: the prompt is missing
  const _missing: TaskInput<Catalog, 'picture'> = { size: 7 }
  // @ts-expect-error: a parameter of the other type
  const _other: TaskInput<Catalog, 'clip'> = { scene: 'a', prompt: 'b' }
})

test('looking at the type of a task tells which it is', () => {
  const read = (task: AnyTaskOf<Catalog>) => {
    if (task.type === 'clip') {
      expectTypeOf(task.params).toEqualTypeOf<{ scene: string }>()
      return task.result?.outputs[0].url
    }
    if (task.type === 'picture') expectTypeOf(task.params.size).toEqualTypeOf<number>()
    return null
  }
  expectTypeOf(read).returns.toEqualTypeOf<string | null | undefined>()
})
