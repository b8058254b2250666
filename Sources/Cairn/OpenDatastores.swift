internal import CairnBytes

/// The open datastores of a manager, sorted by id.
///
/// Not a dictionary: see `DeviceContexts` for what the first one costs whoever opens a datastore.
struct OpenDatastores {
  private(set) var values: [Datastore] = []

  subscript(id: String) -> Datastore? {
    get {
      let index = lowerBound(id)
      return index < values.count && values[index].id == id ? values[index] : nil
    }
    set {
      let index = lowerBound(id)
      let isKnown = index < values.count && values[index].id == id
      switch (isKnown, newValue) {
      case (true, let datastore?): values[index] = datastore
      case (true, nil): values.remove(at: index)
      case (false, let datastore?): values.insert(datastore, at: index)
      case (false, nil): break
      }
    }
  }

  /// The index of the first one whose id is not below `id`.
  private func lowerBound(_ id: String) -> Int {
    values.partitionPoint { $0.id >= id }
  }
}
