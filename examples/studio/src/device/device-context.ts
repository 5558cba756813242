import { createContext, use } from 'react'
import { type Device, deviceFrom } from './device.ts'

export const DeviceContext = createContext<Device>(deviceFrom(''))

export const useDevice = (): Device => use(DeviceContext)
