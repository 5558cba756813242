import type { Attempt, Scene } from './attempt.ts'

const stuck = { prompt: 'a fox [stuck]' }

/** Submits, and cancels while the reply to the create is held back; it comes afterwards. */
async function cancelOnTheWay(
  { user, made, creates, vendors }: Scene,
  { type, prompt }: { type: 'picture' | 'image'; prompt: string },
): Promise<string> {
  const vendor = type === 'image' ? 'kie' : 'replicate'
  vendors[vendor].hold()
  const task = made(await user.submit(type, { prompt }))
  await creates(vendor, 1)
  made(await user.cancel(task.id))
  return task.id
}

/** Every moment at which a user can cancel. */
export const CANCELS: Attempt[] = [
  {
    name: 'cancels at once, again and again',
    async run({ user, made }) {
      for (let time = 0; time < 8; time += 1) {
        const answer = await user.submit('picture', stuck)
        if (answer.status === 402) return
        made(await user.cancel(made(answer).id))
      }
    },
  },
  {
    name: 'cancels while the create is under way',
    run: async (scene) => void (await cancelOnTheWay(scene, { type: 'picture', prompt: 'a fox [stuck]' })),
  },
  {
    name: 'the same where the vendor cannot cancel',
    run: async (scene) => void (await cancelOnTheWay(scene, { type: 'image', prompt: 'a fox [fast]' })),
  },
  {
    name: 'cancels while the create is under way, and the vendor refuses it',
    run: async (scene) => void (await cancelOnTheWay(scene, { type: 'picture', prompt: 'a fox [refuse]' })),
  },
  {
    name: 'cancels while the create is under way, and the vendor is busy',
    run: async (scene) =>
      void (await cancelOnTheWay(scene, { type: 'picture', prompt: 'a fox [busy-seconds]' })),
  },
  {
    name: 'cancels while the create is under way, and its reply is lost, but can be found',
    calledBack: true,
    async run(scene) {
      scene.vendors.replicate.loseNext()
      await cancelOnTheWay(scene, { type: 'picture', prompt: 'a fox [stuck]' })
    },
  },
  {
    name: 'the same where it cannot be found',
    loses: 1,
    async run(scene) {
      scene.vendors.kie.loseNext()
      await cancelOnTheWay(scene, { type: 'image', prompt: 'a fox [fast]' })
    },
  },
  {
    name: 'cancels while the create is under way, and the server is killed',
    calledBack: true,
    async run(scene) {
      await cancelOnTheWay(scene, { type: 'picture', prompt: 'a fox [stuck]' })
      await scene.lab.crash()
    },
  },
  {
    name: 'cancels what runs, and the server is killed',
    async run({ lab, user, made, status }) {
      const task = made(await user.submit('picture', stuck))
      await status(task, 'running')
      made(await user.cancel(task.id))
      await lab.crash()
    },
  },
  {
    name: 'retries while the hold of a cancelled one is open',
    async run(scene) {
      const taskId = await cancelOnTheWay(scene, { type: 'picture', prompt: 'a fox [stuck]' })
      const again = scene.made(await scene.user.retry(taskId))
      scene.refused(await scene.user.retry(taskId), 402)
      scene.made(await scene.user.cancel(again.id))
    },
  },
  {
    name: 'cancels what runs',
    async run({ user, made, status }) {
      const task = made(await user.submit('picture', stuck))
      await status(task, 'running')
      made(await user.cancel(task.id))
    },
  },
  {
    name: 'cancels in two tabs at once, and once more',
    async run({ user, made, status }) {
      const task = made(await user.submit('picture', stuck))
      await status(task, 'running')
      for (const answer of await Promise.all([user.cancel(task.id), user.cancel(task.id)])) made(answer)
      made(await user.cancel(task.id))
    },
  },
  {
    name: 'cancels at the moment of completion',
    async run({ user, made, status }) {
      const task = made(await user.submit('picture', { prompt: 'a fox [fast]' }))
      await status(task, 'running', 'completed')
      await Promise.all([status(task, 'completed', 'cancelled'), user.cancel(task.id)])
    },
  },
  {
    name: 'cancels at the moment of the reply',
    async run({ user, made, creates, vendors }) {
      for (const count of [1, 2]) {
        const task = made(await user.submit('picture', stuck))
        await creates('replicate', count)
        await Promise.all([user.cancel(task.id), vendors.replicate.release()])
      }
    },
  },
  {
    name: 'cancels and retries in a loop',
    async run({ user, made, status }) {
      let task = made(await user.submit('picture', stuck))
      for (;;) {
        await status(task, 'running')
        made(await user.cancel(task.id))
        const again = await user.retry(task.id)
        if (again.status === 402) return
        task = made(again)
      }
    },
  },
]
