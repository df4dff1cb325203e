internal import Configuration
internal import EventLoop
internal import System

/// Handles signals, the watchdog, and the time limit for open connections at shutdown.
final class ProcessEvents {
  private let loop: Loop
  private var signals: [SignalSource] = []
  private var watchdog: Watchdog?
  private var drain: Timer?

  /// - Parameters:
  ///   - watch: creates the watchdog for the service manager's timeout in milliseconds.
  ///   - reload: called for SIGHUP.
  ///   - stop: called for SIGTERM and SIGINT.
  init(
    loop: Loop, watch: (_ interval: UInt64) -> Watchdog, reload: @escaping () -> Void, stop: @escaping () -> Void
  ) throws(StartError) {
    self.loop = loop
    do throws(UVError) {
      signals = [
        try SignalSource(loop: loop, signal: 1, onSignal: reload),
        try SignalSource(loop: loop, signal: 2, onSignal: stop),
        try SignalSource(loop: loop, signal: 15, onSignal: stop),
      ]
    } catch {
      throw .system(error.description)
    }
    if let interval = ServiceManager.watchdogInterval {
      watchdog = watch(interval)
    }
  }

  func startDrain(limit: UInt64, onLimit: @escaping () -> Void) {
    drain = Timer(loop: loop, onFire: onLimit)
    drain?.start(after: limit)
  }

  func close() {
    for signal in signals { signal.close() }
    signals = []
    watchdog?.close()
    drain?.close()
    watchdog = nil
    drain = nil
  }
}
