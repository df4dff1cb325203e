internal import CLinux
internal import Glibc

/// The system's users and groups, from NSS. Only for start and reload, because the calls block.
package enum Users {
  /// The effective uid.
  package static var currentUID: UInt32 { geteuid() }

  package static func uid(named name: String) -> UInt32? {
    withGrowingBuffer { buffer, count in
      var (entry, found) = (passwd(), UnsafeMutablePointer<passwd>?.none)
      let status = getpwnam_r(name, &entry, buffer, count, &found)
      return (status, found?.pointee.pw_uid)
    }
  }

  package static func gid(named name: String) -> UInt32? {
    withGrowingBuffer { buffer, count in
      var (entry, found) = (group(), UnsafeMutablePointer<group>?.none)
      let status = getgrnam_r(name, &entry, buffer, count, &found)
      return (status, found?.pointee.gr_gid)
    }
  }

  package static func name(ofUID uid: UInt32) -> String? {
    withGrowingBuffer { buffer, count in
      var (entry, found) = (passwd(), UnsafeMutablePointer<passwd>?.none)
      let status = getpwuid_r(uid, &entry, buffer, count, &found)
      return (status, found.flatMap { $0.pointee.pw_name }.map { String(cString: $0) })
    }
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
    withGrowingBuffer { buffer, count in
      var (entry, found) = (passwd(), UnsafeMutablePointer<passwd>?.none)
      let status = getpwuid_r(geteuid(), &entry, buffer, count, &found)
      return (status, found.flatMap { $0.pointee.pw_dir }.map { String(cString: $0) })
    }
  }

  package static func groupName(ofGID gid: UInt32) -> String? {
    withGrowingBuffer { buffer, count in
      var (entry, found) = (group(), UnsafeMutablePointer<group>?.none)
      let status = getgrgid_r(gid, &entry, buffer, count, &found)
      return (status, found.flatMap { $0.pointee.gr_name }.map { String(cString: $0) })
    }
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
    withGrowingBuffer { buffer, count in
      var (entry, found) = (group(), UnsafeMutablePointer<group>?.none)
      let status = getgrgid_r(gid, &entry, buffer, count, &found)
      var names: [String] = []
      var member = found?.pointee.gr_mem
      while let name = member?.pointee {
        names.append(String(cString: name))
        member = member?.advanced(by: 1)
      }
      return (status, names)
    } ?? []
  }

  /// Repeats a `…_r` function with a larger buffer while it returns ERANGE.
  private static func withGrowingBuffer<Value>(
    _ query: (UnsafeMutablePointer<CChar>, Int) -> (status: Int32, value: Value?)
  ) -> Value? {
    var count = 4096
    while count <= 4 * 1024 * 1024 {
      let buffer = UnsafeMutablePointer<CChar>.allocate(capacity: count)
      defer { buffer.deallocate() }
      let (status, value) = query(buffer, count)
      if status == ERANGE {
        count *= 4
      } else if status != EINTR {
        return status == 0 ? value : nil
      }
    }
    return nil
  }
}
