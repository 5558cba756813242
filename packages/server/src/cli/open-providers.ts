import type { Logger } from 'pino'
import {
  keyVariableOf,
  type ProviderSettings,
  type VendorName,
  type VendorSettings,
} from '../provider-settings.ts'
import { createFal } from '../providers/fal/fal.ts'
import { createKie } from '../providers/kie/kie.ts'
import { createLumaAgents } from '../providers/luma-agents/luma-agents.ts'
import { createLumaDreamMachine } from '../providers/luma-dream-machine/luma-dream-machine.ts'
import { createOpenAiVideos } from '../providers/openai-videos/openai-videos.ts'
import type { Provider } from '../providers/provider.ts'
import { createReplicate } from '../providers/replicate/replicate.ts'
import { createRunway } from '../providers/runway/runway.ts'
import { defaultTaskTypes, type TaskTypes } from '../tasks/task-types.ts'

export interface OpenProviders {
  /** All that have a key: one that does nothing new may still have tasks under way. */
  providers: Provider[]
  /** `image` and `video`, as far as there is somebody to make them. */
  types: TaskTypes
}

/** What every adapter is given. */
interface Given {
  apiKey: string
  baseUrl?: string
  models: Record<string, string>
  log: Logger
}

const CREATE: Record<VendorName, (given: Given, settings: VendorSettings) => Provider> = {
  kie: (given, { webhookSecret }) =>
    createKie({ ...given, ...(webhookSecret ? { webhookHmacKey: webhookSecret } : {}) }),
  replicate: (given, { webhookSecret }) =>
    createReplicate({ ...given, ...(webhookSecret ? { webhookSecret } : {}) }),
  fal: (given) => createFal(given),
  runway: (given) => createRunway(given),
  'luma-agents': (given) => createLumaAgents(given),
  'luma-dream-machine': (given) => createLumaDreamMachine(given),
  'openai-videos': (given, { webhookSecret }) =>
    createOpenAiVideos({
      ...given,
      baseUrl: given.baseUrl ?? '',
      ...(webhookSecret ? { webhookSecret } : {}),
    }),
}

/**
 * The adapters for all vendors that have a key, and who of them makes what. `simulated` stands in for KIE, and makes
 * what nobody with a key does.
 */
export function openProviders(
  settings: ProviderSettings,
  { log, simulated }: { log: Logger; simulated?: Provider },
): OpenProviders {
  const withKey = (Object.keys(CREATE) as VendorName[]).filter((name) => settings.vendors[name].apiKey)
  const types: TaskTypes = {}
  const modelsOf = (kind: 'image' | 'video', provider: string) => {
    const vendor = withKey.find((name) => name === provider)
    const models = vendor && settings.vendors[vendor].choices[kind]
    return models ? { models } : {}
  }
  for (const kind of ['image', 'video'] as const) {
    const provider = choose(kind, settings, withKey, simulated?.name) ?? simulated?.name
    if (provider) types[kind] = { ...defaultTaskTypes[kind], provider, ...modelsOf(kind, provider) }
    else log.warn(`no provider with a key makes ${kind}s: they are not offered`)
  }
  const providers = withKey.map((name) => open(name, settings.vendors[name], log))
  return { providers: simulated && !withKey.includes('kie') ? [simulated, ...providers] : providers, types }
}

/** Whether any vendor has a key. */
export function hasProvider({ vendors }: ProviderSettings): boolean {
  return Object.values(vendors).some(({ apiKey }) => apiKey !== null)
}

function choose(
  kind: 'image' | 'video',
  settings: ProviderSettings,
  withKey: VendorName[],
  simulated: string | undefined,
): VendorName | null {
  const variable = `${kind.toUpperCase()}_PROVIDER`
  const chosen = settings[kind]
  if (chosen) {
    if (withKey.includes(chosen) || chosen === simulated) return chosen
    throw new Error(
      `${variable} is "${chosen}", which has no key. Set ${keyVariableOf(chosen)}, or choose another.`,
    )
  }
  const able = withKey.filter((name) => settings.vendors[name].models[kind])
  if (able.length > 1 && !able.includes('kie')) {
    throw new Error(`${able.join(', ')} could all make ${kind}s. Say which one does: ${variable}=${able[0]}`)
  }
  return able.find((name) => name === 'kie') ?? able[0] ?? null
}

function open(name: VendorName, settings: VendorSettings, log: Logger): Provider {
  const { apiKey, baseUrl, models } = settings
  return CREATE[name](
    { apiKey: apiKey ?? '', ...(baseUrl ? { baseUrl } : {}), models: { ...models }, log },
    settings,
  )
}
