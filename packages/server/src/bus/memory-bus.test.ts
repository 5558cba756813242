import { describeBus } from '../../test/bus-conformance.ts'
import { createMemoryBus } from './memory-bus.ts'

describeBus('the memory bus', () => createMemoryBus)
