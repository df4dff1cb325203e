/// Who asks, as the kernel says.
package struct Caller: Sendable, Equatable {
  package let uid: UInt32
  package init(uid: UInt32) { self.uid = uid }
}

/// Who may ask. Groups are resolved to their members' uids when the configuration is read.
package struct Callers: Sendable, Equatable {
  package var uids: Set<UInt32>
  package init(uids: Set<UInt32>) { self.uids = uids }
  package func admits(_ caller: Caller) -> Bool { uids.contains(caller.uid) }
}
