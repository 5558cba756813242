import { randomUUID } from 'node:crypto'
import { createKie } from '@holdfast/server'
import { FINISH_WITHIN_MS } from './crash-case.ts'

/** The one create of a task that is adopted. Returns its id at the provider. */
export async function sendElsewhere(baseUrl: string, type: string, prompt: string): Promise<string> {
  const kie = createKie({ apiKey: 'crash-key', baseUrl, models: { [type]: 'google/nano-banana' } })
  const request = { taskId: randomUUID(), type, params: { prompt } }
  const outcome = await kie.create(request, AbortSignal.timeout(FINISH_WITHIN_MS))
  await kie.close()
  if (outcome.kind !== 'accepted') throw new Error(`The provider said "${outcome.kind}".`)
  return outcome.externalId
}
