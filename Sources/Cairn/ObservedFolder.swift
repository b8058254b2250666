/// A folder of which it is noted whether it answers. What it says of one file says nothing of that:
/// a listing comes before, and after, if it goes on so. Nor does what a budget has no room for, a
/// listing included: then nobody was asked, and a server that has no room itself has answered.
struct ObservedFolder: Folder {
  let base: any Folder
  let condition: ExchangeCondition

  func list(_ directory: String) async throws(CairnError) -> [FolderEntry] {
    do throws(CairnError) { return note(try await base.list(directory)) } catch {
      throw failed(error)
    }
  }

  /// The same if the folder has no shorter way.
  func listBriefly(_ directory: String) async throws(CairnError) -> [FolderEntry] {
    guard let brief = base as? any BriefFolder else { return try await list(directory) }
    do throws(CairnError) { return note(try await brief.listBriefly(directory)) } catch {
      throw failed(error)
    }
  }

  func read(_ path: String, limit: Int) async throws(CairnError) -> [UInt8]? {
    do throws(CairnError) { return note(try await base.read(path, limit: limit)) } catch {
      throw failed(error, isOfFile: true)
    }
  }

  func write(_ path: String, _ bytes: [UInt8]) async throws(CairnError) -> FolderEntry {
    do throws(CairnError) { return note(try await base.write(path, bytes)) } catch {
      throw failed(error, isOfFile: true)
    }
  }

  func write(
    _ path: String, _ bytes: [UInt8], need: BudgetNeed
  ) async throws(CairnError) -> FolderEntry {
    guard let budgeted = base as? any BudgetedFolder else { return try await write(path, bytes) }
    do throws(CairnError) {
      return note(try await budgeted.write(path, bytes, need: need))
    } catch { throw failed(error, isOfFile: true) }
  }

  func remove(_ path: String) async throws(CairnError) {
    do throws(CairnError) { note(try await base.remove(path)) } catch {
      throw failed(error, isOfFile: true)
    }
  }

  func read(
    _ path: String, from offset: UInt64, _ body: ([UInt8]) throws(CairnError) -> Void
  ) async throws(CairnError) -> Bool {
    do throws(CairnError) { return note(try await base.read(path, from: offset, body)) } catch {
      throw failed(error, isOfFile: true)
    }
  }

  func write(
    _ path: String, from source: any FolderSource
  ) async throws(CairnError) -> FolderEntry {
    do throws(CairnError) { return note(try await base.write(path, from: source)) } catch {
      throw failed(error, isOfFile: true)
    }
  }

  var traffic: FolderTraffic? { base.traffic }

  func onStall(_ tell: @escaping @Sendable (_ isStalled: Bool) -> Void) { base.onStall(tell) }

  private func note<R>(_ answer: R) -> R {
    condition.update { $0.isAnswering = true }
    return answer
  }

  private func failed(_ error: CairnError, isOfFile: Bool = false) -> CairnError {
    if ExchangeCondition.saysNothing(error) || error.code == .quota { return error }
    if isOfFile, ObservedFolder.mayBeOfFile(error) { return error }
    condition.update { $0.isAnswering = false }
    return error
  }

  private static func mayBeOfFile(_ error: CairnError) -> Bool {
    Exchange.mayBeOfOne(error)
      || [.fileIO, .notFound, .corrupt, .readOnly, .sizeLimit].contains(error.code)
  }
}
