const NAME = '[A-Za-z0-9][A-Za-z0-9._-]*'
const MODEL = new RegExp(`^${NAME}(?:/${NAME})+$`)
const EXTERNAL_ID = new RegExp(`^(?<model>${NAME}(?:/${NAME})+):(?<requestId>[A-Za-z0-9_-]{1,80})$`)

/** Ids beginning so keep that part and two more. */
const NAMESPACES = new Set(['workflows', 'comfy'])

/** A request is known by its id only together with the model that it was sent to. */
export interface FalRequest {
  /** As it was sent to, such as `fal-ai/kling-video/v3/pro/text-to-video`. */
  model: string
  requestId: string
}

export function isModel(value: unknown): value is string {
  return typeof value === 'string' && value.length <= 110 && MODEL.test(value)
}

export function toExternalId({ model, requestId }: FalRequest): string {
  return `${model}:${requestId}`
}

export function fromExternalId(externalId: string): FalRequest | null {
  const { model, requestId } = EXTERNAL_ID.exec(externalId)?.groups ?? {}
  return model && requestId ? { model, requestId } : null
}

/** The model without what comes after its name: `fal-ai/kling-video`. */
export function appOf(model: string): string {
  const parts = model.split('/')
  return parts.slice(0, NAMESPACES.has(parts[0] ?? '') ? 3 : 2).join('/')
}
