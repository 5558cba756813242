import { z } from 'zod'
import { defaultTaskTypes, type TaskType, type TaskTypes } from '../src/tasks/task-types.ts'

/** What an operator might offer for credits, some of it written in a hurry. */
export function moneyTypes(price: number): TaskTypes {
  const image: TaskType = { ...(defaultTaskTypes.image as TaskType), watchedPollMs: 100, credits: price }
  const prompt = z.string().min(1)
  const picture: TaskType = {
    ...image,
    provider: 'replicate',
    params: z.object({ prompt, model: z.string().optional() }),
  }
  return {
    image,
    picture,
    hurried: { ...picture, deadlineMs: 300 },
    clip: { ...image, provider: 'luma-dream-machine', params: z.looseObject({ prompt }) },
    // As an operator in a hurry would write it: whatever users send is in the price.
    seconds: {
      ...picture,
      params: z.looseObject({ prompt, seconds: z.unknown() }),
      credits: ({ seconds }) => 2 * Number(seconds),
    },
    // What KIE says it took: 4 credits of its own for a picture.
    metered: { ...image, credits: (_, usage) => (usage ? Number(usage.creditsConsumed) - 1 : price) },
  }
}
