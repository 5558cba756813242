/** As forms send it: for gateways that take no JSON. Files come as data URLs, which is all that stored parameters can hold. */
export async function encodeMultipart(
  fields: Record<string, unknown>,
): Promise<{ body: Uint8Array; headers: Record<string, string> }> {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined || value === null) continue
    const file = fileOf(value)
    if (file) form.set(name, file)
    else form.set(name, typeof value === 'string' ? value : JSON.stringify(value))
  }
  const encoded = new Response(form)
  return {
    body: new Uint8Array(await encoded.arrayBuffer()),
    headers: { 'content-type': encoded.headers.get('content-type') ?? 'multipart/form-data' },
  }
}

const DATA_URL = /^data:([\w.+-]+\/[\w.+-]+);base64,([A-Za-z0-9+/=]+)$/

/** A data URL, alone or as `{ image_url }`. */
function fileOf(value: unknown): File | null {
  const url = typeof value === 'object' && value !== null && 'image_url' in value ? value.image_url : value
  const [, type, base64] = (typeof url === 'string' && DATA_URL.exec(url)) || []
  if (!type || !base64) return null
  return new File([Buffer.from(base64, 'base64')], `input.${type.split('/')[1]}`, { type })
}
