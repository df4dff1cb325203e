// Written by make generate from config/keys.toml.
// swift-format-ignore-file

internal import Policy
internal import Settings

extension SectionReader {
  func read(_ fields: Fields<SuspendKey>, into settings: inout Suspension) {
    settings.after = integer(.after, of: fields) ?? settings.after
    settings.time = duration(.time, of: fields) ?? settings.time
  }

  func read(_ fields: Fields<ServiceKey>, into settings: inout ServiceOptions) {
    settings.serviceProtocol = choice(.serviceProtocol, of: fields) ?? settings.serviceProtocol
    settings.probe = optionalDuration(.probe, of: fields) ?? settings.probe
    settings.cookies = choice(.cookies, of: fields) ?? settings.cookies
    settings.via = boolean(.via, of: fields) ?? settings.via
    settings.onRejected = choice(.onRejected, of: fields) ?? settings.onRejected
    settings.redact = choice(.redact, of: fields) ?? settings.redact
    settings.responses = choice(.responses, of: fields) ?? settings.responses
    settings.dedicatedConnections = boolean(.dedicatedConnections, of: fields) ?? settings.dedicatedConnections
    settings.reuseAfterBody = boolean(.reuseAfterBody, of: fields) ?? settings.reuseAfterBody
  }

  func read(_ fields: Fields<TimeoutKey>, into settings: inout Timeouts) {
    settings.connect = duration(.connect, of: fields) ?? settings.connect
    settings.handshake = duration(.handshake, of: fields) ?? settings.handshake
    settings.responseHead = optionalDuration(.responseHead, of: fields) ?? settings.responseHead
    settings.bodySilence = optionalDuration(.bodySilence, of: fields) ?? settings.bodySilence
    settings.upgraded = optionalDuration(.upgraded, of: fields) ?? settings.upgraded
    settings.total = optionalDuration(.total, of: fields) ?? settings.total
  }

  func read(_ fields: Fields<LimitKey>, into settings: inout Limits) {
    settings.head = size(.head, of: fields) ?? settings.head
    settings.fields = integer(.fields, of: fields) ?? settings.fields
    settings.target = size(.target, of: fields) ?? settings.target
    settings.connections = integer(.connections, of: fields) ?? settings.connections
    settings.connectionsPerUser = integer(.connectionsPerUser, of: fields) ?? settings.connectionsPerUser
    settings.requestsPerUser = integer(.requestsPerUser, of: fields) ?? settings.requestsPerUser
    settings.streams = integer(.streams, of: fields) ?? settings.streams
    settings.idlePerIdentity = integer(.idlePerIdentity, of: fields) ?? settings.idlePerIdentity
    settings.clientHead = duration(.clientHead, of: fields) ?? settings.clientHead
    settings.clientIdle = duration(.clientIdle, of: fields) ?? settings.clientIdle
    settings.clientBodyRate = size(.clientBodyRate, of: fields) ?? settings.clientBodyRate
    settings.decodedError = size(.decodedError, of: fields) ?? settings.decodedError
    settings.upstreamIdle = duration(.upstreamIdle, of: fields) ?? settings.upstreamIdle
    settings.streamWindow = size(.streamWindow, of: fields) ?? settings.streamWindow
    settings.upstreamPing = optionalDuration(.upstreamPing, of: fields) ?? settings.upstreamPing
    settings.upstreamPingTimeout = duration(.upstreamPingTimeout, of: fields) ?? settings.upstreamPingTimeout
    settings.drain = duration(.drain, of: fields) ?? settings.drain
    settings.revokedGrace = duration(.revokedGrace, of: fields) ?? settings.revokedGrace
  }

  func read(_ fields: Fields<KeepaliveKey>, into settings: inout Keepalive) {
    settings.idle = duration(.idle, of: fields, "Linux does not accept more") ?? settings.idle
    settings.interval = duration(.interval, of: fields, "Linux does not accept more") ?? settings.interval
    settings.probes = integer(.probes, of: fields) ?? settings.probes
  }
}
