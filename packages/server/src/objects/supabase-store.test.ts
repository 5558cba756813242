import { describeObjectStore } from '../../test/object-store-conformance.ts'
import { startSupabaseStorageDouble } from '../../test/supabase-storage-double.ts'
import { createSupabaseStore } from './supabase-store.ts'

describeObjectStore('Supabase store', async () => {
  const service = await startSupabaseStorageDouble()
  const { url, bucket, serviceKey } = service
  const store = createSupabaseStore({ url, bucket, serviceKey })
  const stranger = createSupabaseStore({ url, bucket, serviceKey: `${serviceKey.slice(0, -2)}xx` })
  return {
    store,
    stranger,
    async stop() {
      await Promise.all([store.close(), store.close(), stranger.close()])
      await service.close()
    },
  }
})
