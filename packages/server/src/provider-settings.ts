/** What the environment says about the vendors: keys, addresses, models, and who does what. */
export interface ProviderSettings {
  vendors: Record<VendorName, VendorSettings>
  /** Which vendor makes images and which videos; null: the only one that has a key, or KIE. */
  image: VendorName | null
  video: VendorName | null
}

export interface VendorSettings {
  /** Null: not used. */
  apiKey: string | null
  /** Null: the vendor's own. */
  baseUrl: string | null
  models: { image?: string; video?: string }
  /** What users may choose from, the usual one first, where more than one is named. */
  choices: { image?: string[]; video?: string[] }
  /** What webhooks are signed with, where that has to be told. */
  webhookSecret: string | null
}

interface VendorNames {
  label: string
  apiKey: string
  baseUrl: string
  /** There is no usual one. */
  needsBaseUrl?: true
  /** Variable and default of each model. */
  models: { image?: [variable: string, otherwise: string]; video?: [variable: string, otherwise: string] }
  webhookSecret?: string
}

const VENDORS = {
  kie: {
    label: 'KIE',
    apiKey: 'KIE_API_KEY',
    baseUrl: 'KIE_BASE_URL',
    models: {
      image: ['KIE_IMAGE_MODEL', 'google/nano-banana'],
      video: ['KIE_VIDEO_MODEL', 'sora-2-text-to-video'],
    },
    webhookSecret: 'KIE_WEBHOOK_HMAC_KEY',
  },
  replicate: {
    label: 'Replicate',
    apiKey: 'REPLICATE_API_TOKEN',
    baseUrl: 'REPLICATE_BASE_URL',
    models: {
      image: ['REPLICATE_IMAGE_MODEL', 'black-forest-labs/flux-schnell'],
      video: ['REPLICATE_VIDEO_MODEL', 'minimax/video-01'],
    },
    webhookSecret: 'REPLICATE_WEBHOOK_SECRET',
  },
  fal: {
    label: 'fal',
    apiKey: 'FAL_KEY',
    baseUrl: 'FAL_BASE_URL',
    models: {
      image: ['FAL_IMAGE_MODEL', 'fal-ai/flux/dev'],
      video: ['FAL_VIDEO_MODEL', 'fal-ai/kling-video/v3/pro/text-to-video'],
    },
  },
  runway: {
    label: 'Runway',
    apiKey: 'RUNWAYML_API_SECRET',
    baseUrl: 'RUNWAYML_BASE_URL',
    models: {
      image: ['RUNWAYML_IMAGE_MODEL', 'gen4_image'],
      video: ['RUNWAYML_VIDEO_MODEL', 'gen4.5'],
    },
  },
  'luma-agents': {
    label: 'Luma (Agents)',
    apiKey: 'LUMA_AGENTS_API_KEY',
    baseUrl: 'LUMA_AGENTS_BASE_URL',
    models: {
      image: ['LUMA_AGENTS_IMAGE_MODEL', 'uni-1'],
      video: ['LUMA_AGENTS_VIDEO_MODEL', 'ray-3.2'],
    },
  },
  'luma-dream-machine': {
    label: 'Luma (Dream Machine)',
    apiKey: 'LUMAAI_API_KEY',
    baseUrl: 'LUMAAI_BASE_URL',
    models: {
      image: ['LUMAAI_IMAGE_MODEL', 'photon-1'],
      video: ['LUMAAI_VIDEO_MODEL', 'ray-2'],
    },
  },
  'openai-videos': {
    label: 'a gateway with OpenAI’s videos API',
    apiKey: 'OPENAI_VIDEOS_API_KEY',
    baseUrl: 'OPENAI_VIDEOS_BASE_URL',
    needsBaseUrl: true,
    models: { video: ['OPENAI_VIDEOS_MODEL', 'sora-2'] },
    webhookSecret: 'OPENAI_VIDEOS_WEBHOOK_SECRET',
  },
} as const satisfies Record<string, VendorNames>

export type VendorName = keyof typeof VENDORS

const NAMES = Object.keys(VENDORS) as VendorName[]

/** The variable that has a vendor's key. */
export function keyVariableOf(vendor: VendorName): string {
  return VENDORS[vendor].apiKey
}

/** The variables that have keys, for messages. */
export const KEY_VARIABLES = NAMES.map(keyVariableOf)

/** What `--help` says about them. */
export const PROVIDER_ENVIRONMENT: [name: string, meaning: string][] = [
  [
    'IMAGE_PROVIDER',
    `who makes images: ${NAMES.filter((name) => 'image' in VENDORS[name].models).join(', ')}`,
  ],
  [
    'VIDEO_PROVIDER',
    `who makes videos: any of these, or openai-videos (both: the only one with a key, or kie)`,
  ],
  ...NAMES.flatMap((name) => helpOf(VENDORS[name])),
]

function helpOf(names: VendorNames): [string, string][] {
  const { label, apiKey, baseUrl, needsBaseUrl, models, webhookSecret } = names
  const rows: [string, string][] = [
    [apiKey, `your key at ${label}`],
    [
      baseUrl,
      needsBaseUrl ? 'where it is (needed), like https://gateway.example.com/v1' : 'another address of it',
    ],
  ]
  if (models.image)
    rows.push([models.image[0], `its model for images, or several to choose from (${models.image[1]})`])
  if (models.video)
    rows.push([models.video[0], `its model for videos, or several to choose from (${models.video[1]})`])
  if (webhookSecret) rows.push([webhookSecret, 'what its webhooks are signed with'])
  return rows
}

export function readProviderSettings(env: NodeJS.ProcessEnv): ProviderSettings {
  const vendors = Object.fromEntries(NAMES.map((name) => [name, readVendor(VENDORS[name], env)])) as Record<
    VendorName,
    VendorSettings
  >
  for (const name of NAMES) {
    const names: VendorNames = VENDORS[name]
    const { apiKey, baseUrl } = vendors[name]
    if (names.needsBaseUrl && apiKey && !baseUrl) {
      throw new Error(
        `${names.apiKey} is set, but ${names.baseUrl} is not. Say where it is, like https://gateway.example.com/v1`,
      )
    }
  }
  return {
    vendors,
    image: readChoice('IMAGE_PROVIDER', env.IMAGE_PROVIDER, 'image'),
    video: readChoice('VIDEO_PROVIDER', env.VIDEO_PROVIDER, 'video'),
  }
}

function readVendor(
  { apiKey, baseUrl, models, webhookSecret }: VendorNames,
  env: NodeJS.ProcessEnv,
): VendorSettings {
  const named = (model: [string, string] | undefined) => (model ? readModels(env, model) : [])
  const [images, videos] = [named(models.image), named(models.video)]
  const [[image], [video]] = [images, videos]
  return {
    apiKey: text(env[apiKey]),
    baseUrl: text(env[baseUrl]),
    models: { ...(image && { image }), ...(video && { video }) },
    choices: { ...(images.length > 1 && { image: images }), ...(videos.length > 1 && { video: videos }) },
    webhookSecret: webhookSecret ? text(env[webhookSecret]) : null,
  }
}

function readModels(env: NodeJS.ProcessEnv, [variable, otherwise]: [string, string]): string[] {
  const value = text(env[variable])
  if (value === null) return [otherwise]
  const models = value.split(',').map((model) => model.trim())
  if (models.includes('')) throw new Error(`${variable} is "${value}"; a model in it has no name.`)
  return [...new Set(models)]
}

function readChoice(
  variable: string,
  value: string | undefined,
  makes: 'image' | 'video',
): VendorName | null {
  const name = text(value)
  if (name === null) return null
  const able = NAMES.filter((each) => makes in VENDORS[each].models)
  const chosen = able.find((each) => each === name)
  if (!chosen) throw new Error(`${variable} is "${name}"; it must be one of ${able.join(', ')}.`)
  return chosen
}

function text(value: string | undefined): string | null {
  return value === undefined || value.trim() === '' ? null : value.trim()
}
