internal import CLinux
internal import Glibc

/// The system's users and groups, from NSS. Only for start and reload, because the calls block.
package enum Users {
  /// The effective uid.
  package static var currentUID: UInt32 { geteuid() }

  package static func uid(named name: String) -> UInt32? {
    find(passwd(), { getpwnam_r(name, $0, $1, $2, $3) }) { $0.pw_uid }
  }

  package static func gid(named name: String) -> UInt32? {
    find(group(), { getgrnam_r(name, $0, $1, $2, $3) }) { $0.gr_gid }
  }

  package static func name(ofUID uid: UInt32) -> String? {
    find(passwd(), { getpwuid_r(uid, $0, $1, $2, $3) }) { $0.pw_name.map { String(cString: $0) } }
  }

  /// Returns the name of a user in /etc/passwd, without directory services (T55). `nil` if the user is not there.
  package static func localName(ofUID uid: UInt32) -> String? {
    guard let file = fopen("/etc/passwd", "re") else { return nil }
    defer { fclose(file) }
    var (entry, found) = (passwd(), UnsafeMutablePointer<passwd>?.none)
    // Not fgetpwent, whose result all threads share. A line longer than the buffer ends the search.
    var buffer = [CChar](repeating: 0, count: 4096)
    while fgetpwent_r(file, &entry, &buffer, buffer.count, &found) == 0, let found {
      if found.pointee.pw_uid == uid { return found.pointee.pw_name.map { String(cString: $0) } }
    }
    return nil
  }

  /// The home directory of the effective user. `nil` if the user has no passwd entry.
  static var home: String? {
    find(passwd(), { getpwuid_r(geteuid(), $0, $1, $2, $3) }) { $0.pw_dir.map { String(cString: $0) } }
  }

  package static func groupName(ofGID gid: UInt32) -> String? {
    find(group(), { getgrgid_r(gid, $0, $1, $2, $3) }) { $0.gr_name.map { String(cString: $0) } }
  }

  /// Returns the uids of all users with this primary or supplementary group. Can be incomplete with a directory
  /// service.
  package static func members(ofGroup gid: UInt32) -> Set<UInt32> {
    var members = Set(memberNames(ofGroup: gid).compactMap { uid(named: $0) })
    setpwent()
    defer { endpwent() }
    while let entry = getpwent() {
      if entry.pointee.pw_gid == gid { members.insert(entry.pointee.pw_uid) }
    }
    return members
  }

  private static func memberNames(ofGroup gid: UInt32) -> [String] {
    find(group(), { getgrgid_r(gid, $0, $1, $2, $3) }) { (entry) -> [String]? in
      var names: [String] = []
      var member = entry.gr_mem
      while let name = member?.pointee {
        names.append(String(cString: name))
        member = member?.advanced(by: 1)
      }
      return names
    } ?? []
  }

  /// Calls a `…_r` function, again with a larger buffer while it returns ERANGE. Returns a value of the entry that it
  /// has found.
  private static func find<Entry, Value>(
    _ empty: Entry,
    _ query: (
      UnsafeMutablePointer<Entry>, UnsafeMutablePointer<CChar>, Int, UnsafeMutablePointer<UnsafeMutablePointer<Entry>?>
    ) -> Int32,
    _ value: (Entry) -> Value?
  ) -> Value? {
    var (entry, count) = (empty, 4096)
    while count <= 4 * 1024 * 1024 {
      let buffer = UnsafeMutablePointer<CChar>.allocate(capacity: count)
      defer { buffer.deallocate() }
      var found: UnsafeMutablePointer<Entry>?
      let status = query(&entry, buffer, count, &found)
      if status == ERANGE {
        count *= 4
      } else if status != EINTR {
        return status == 0 && found != nil ? value(entry) : nil
      }
    }
    return nil
  }
}
