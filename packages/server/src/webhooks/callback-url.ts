/**
 * Where a provider calls back about one task. The secret is that task's own: whoever knows the address was told by us,
 * which is all the proof there is where a vendor does not sign.
 */
export function callbackUrl(
  publicUrl: string | undefined,
  { provider, taskId, secret }: { provider: string; taskId: string; secret: string },
): string | undefined {
  if (publicUrl === undefined) return undefined
  return `${publicUrl.replace(/\/+$/, '')}/v1/webhooks/${provider}/${taskId}/${secret}`
}
