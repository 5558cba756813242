import type { Conversation, FilesResult, TaskOutput } from '@holdfast/shared'
import { expectTypeOf, test } from 'vitest'
// A type only: nothing of the server is there at run time.
import type { AppTasks } from '../../../server/test/app-task-types.ts'
import type { TrackedTask } from '../store/merge-tasks.ts'
import type { ClientState } from '../store/task-store.ts'
import type {
  RestoredTasks,
  SubmitTask,
  TypedTask,
  useRestoredTasks,
  useSubmitTask,
  useTask,
} from './index.ts'

/**
 * Judged by the compiler, in `npm run check`: a `@ts-expect-error` below which nothing is wrong is an error itself. The
 * functions are never called.
 */
declare const restored: typeof useRestoredTasks
declare const taskOf: typeof useTask
declare const submitTask: typeof useSubmitTask
type Submit = SubmitTask<AppTasks, 'portrait' | 'film'>['submit']

test('what is submitted must fit the server’s own definition', () => {
  expectTypeOf<ReturnType<typeof useSubmitTask<AppTasks>>['submit']>().toEqualTypeOf<Submit>()
  return (submit: Submit) => {
    submit({ type: 'portrait', params: { prompt: 'a lighthouse' } })
    submit({ type: 'portrait', params: { prompt: 'a lighthouse', steps: 5 }, conversationId: 'c' })
    submit({ type: 'film', params: { scene: 'a storm', seconds: 5 } })
    // @ts-expect-error: there is no such type
    submit({ type: 'music', params: { prompt: 'a song' } })
    // @ts-expect-error: the prompt is missing
    submit({ type: 'portrait', params: { steps: 5 } })
    // @ts-expect-error: parameters of the other type
    submit({ type: 'film', params: { prompt: 'a lighthouse' } })
    // @ts-expect-error: steps is a number
    submit({ type: 'portrait', params: { prompt: 'a lighthouse', steps: 'many' } })
    // @ts-expect-error: one that the server does not take
    submit({ type: 'portrait', params: { prompt: 'a lighthouse', size: 5 } })
    // @ts-expect-error: no parameters at all
    submit({ type: 'portrait' })
    submit({ type: 'portrait', params: { prompt: 'a lighthouse' }, conversation: { id: 'c', title: 'Sea' } })
    // @ts-expect-error: a conversation has a title
    submit({ type: 'portrait', params: { prompt: 'a lighthouse' }, conversation: { id: 'c' } })
    // @ts-expect-error: an id alone is a conversationId
    submit({ type: 'portrait', params: { prompt: 'a lighthouse' }, conversation: 'c' })
    // @ts-expect-error: not an option of submit
    submit({ type: 'portrait', params: { prompt: 'a lighthouse' }, slot: 'c' })
  }
})

test('the task of a submit is of its type, with defaults filled in', () => {
  return async (submit: Submit) => {
    const portrait = await (await submit({ type: 'portrait', params: { prompt: 'a lighthouse' } })).task
    expectTypeOf(portrait.type).toEqualTypeOf<'portrait'>()
    expectTypeOf(portrait.params).toEqualTypeOf<{ prompt: string; steps: number }>()
    expectTypeOf(portrait.result).toEqualTypeOf<FilesResult | null>()
    const film = await (await submit({ type: 'film', params: { scene: 'a storm', seconds: 5 } })).task
    expectTypeOf(film.params).toEqualTypeOf<{ scene: string; seconds: number }>()
    expectTypeOf(film.result).toEqualTypeOf<{ outputs: [TaskOutput] } | null>()
    // @ts-expect-error: a portrait has no scene
    portrait.params.scene
  }
})

test('a hook for one type submits no other', () => {
  type Portraits = ReturnType<typeof useSubmitTask<AppTasks, 'portrait'>>['submit']
  return (submit: Portraits) => {
    submit({ type: 'portrait', params: { prompt: 'a lighthouse' } })
    // @ts-expect-error: a film
    submit({ type: 'film', params: { scene: 'a storm', seconds: 5 } })
  }
})

test('one task, by its type or by looking at it', () => {
  return () => {
    expectTypeOf(taskOf<AppTasks, 'film'>('id')).toEqualTypeOf<TypedTask<AppTasks, 'film'> | undefined>()
    const task = taskOf<AppTasks>('id')
    if (task?.type === 'film') expectTypeOf(task.params.seconds).toEqualTypeOf<number>()
    if (task?.type === 'portrait') expectTypeOf(task.params.steps).toEqualTypeOf<number>()
    // @ts-expect-error: it may be a film
    task?.params.prompt
    // @ts-expect-error: there is no such type
    taskOf<AppTasks, 'music'>('id')
    // Still all that a task here has.
    expectTypeOf(task?.origin).toEqualTypeOf<TrackedTask['origin'] | undefined>()
  }
})

test('restored tasks, all or a part', () => {
  return () => {
    const { tasks, placeholders } = restored<AppTasks>({ conversationId: 'c' })
    expectTypeOf(tasks).toEqualTypeOf<TypedTask<AppTasks>[]>()
    expectTypeOf(placeholders[0]?.task).toEqualTypeOf<TypedTask<AppTasks> | undefined>()
    const scenes = restored({
      select: (all: RestoredTasks<AppTasks>) =>
        all.tasks.map((task) => (task.type === 'film' ? task.params.scene : task.params.steps)),
    })
    expectTypeOf(scenes).toEqualTypeOf<(string | number)[]>()
    // @ts-expect-error: a portrait has no scene
    restored({ select: (all: RestoredTasks<AppTasks>) => all.tasks.map((task) => task.params.scene) })
    expectTypeOf(restored({ select: ({ placeholders: p }) => p.length })).toEqualTypeOf<number>()
  }
})

test('without a catalog anything goes, and tasks are what the core has', () => {
  return () => {
    const { submit } = submitTask()
    submit({ type: 'anything', params: { of: ['any', 'kind'] } })
    // @ts-expect-error: parameters are an object
    submit({ type: 'anything', params: 5 })
    expectTypeOf(restored().tasks).toExtend<TrackedTask[]>()
    expectTypeOf(taskOf('id')).toExtend<TrackedTask | undefined>()
  }
})

test('conversations are there to read, and nobody else’s to change', () => {
  return ({ conversations, unreadConversations }: ClientState) => {
    expectTypeOf(conversations.c).toEqualTypeOf<Conversation | undefined>()
    expectTypeOf(unreadConversations).toEqualTypeOf<number | null>()
    // @ts-expect-error: the store’s own
    delete conversations.c
  }
})

test('a catalog written by hand', () => {
  type ByHand = { image: { params: { prompt: string }; result: { outputs: TaskOutput[] } } }
  return async (submit: SubmitTask<ByHand, 'image'>['submit']) => {
    const { task } = await submit({ type: 'image', params: { prompt: 'a harbour' } })
    expectTypeOf((await task).params).toEqualTypeOf<{ prompt: string }>()
    // @ts-expect-error: the prompt is missing
    submit({ type: 'image', params: {} })
  }
})
