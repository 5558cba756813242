import { createHttpApi } from '@holdfast/server'
import { z } from 'zod'

const job = z.object({
  id: z.string(),
  state: z.string(),
  percent: z.number().nullish(),
  files: z.array(z.string()).default([]),
  error: z.string().nullish(),
})

export const createAcme = (apiKey: string, baseUrl = 'https://api.acme.example/v1') =>
  createHttpApi({
    name: 'acme',
    baseUrl,
    apiKey,
    create: ({ params }) => ({ path: '/jobs', json: params }),
    readCreate: ({ json }) => ({ kind: 'accepted', externalId: job.parse(json).id }),
    query: (id) => ({ path: `/jobs/${encodeURIComponent(id)}` }),
    readQuery: ({ json }) => {
      const { state, percent, files, error } = job.parse(json)
      if (state === 'done') return { kind: 'succeeded', outputs: files.map((url) => ({ url })) }
      if (state === 'failed') return { kind: 'failed', words: error }
      return { kind: 'running', progress: percent }
    },
    cancel: (id) => ({ method: 'DELETE', path: `/jobs/${encodeURIComponent(id)}` }),
  })
